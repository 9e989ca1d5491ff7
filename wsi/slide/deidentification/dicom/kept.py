"""The elements that stay although nobody has to keep them: by these, pixels are found, read, coloured and measured.

Each has a rule for its value, since any value can hold a name: terms are those of the standard, numbers are numbers,
and text stays nowhere. Names are those of PS3.6. None of these attributes is in the profile's table.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from pydicom.datadict import dictionary_has_tag

from wsi.slide.deidentification.dicom.values import is_standard_uid, split_values

Rule = Callable[[bytes], bool]  #: whether a value says nothing but what the attribute is for

_NUMBER: Final = re.compile(rb"[-+]?[0-9]{0,7}(\.[0-9]{0,14})?([eE][-+]?[0-9]{1,3})?")
_MOST_NUMBERS: Final = 8  #: of a value of text
_MOST_INDEXES: Final = 32  #: bytes of a frame's indexes
_LARGEST_MEASURE: Final = 100_000
_LARGEST_INDEX: Final = 0x2000_0000  #: four letters as a number are more


def _are_terms(*terms: str) -> Rule:
    known = {term.encode() for term in ("", *terms)}
    return lambda value: all(each in known for each in split_values(value))


def _are_numbers(value: bytes) -> bool:
    values = split_values(value)
    return len(values) <= _MOST_NUMBERS and all(_NUMBER.fullmatch(each) for each in values)


def _is_small(value: bytes) -> bool:
    """Return whether a running number has few digits: longer ones are numbers of cases."""
    return re.fullmatch(rb"[0-9]{0,4}", value.strip(b" \0")) is not None


def _is_count(value: bytes) -> bool:
    """Return whether a binary number has two bytes, or is none that four letters make."""
    return len(value) == 2 or (len(value) == 4 and _are_indexes(value))


def _is_measure(value: bytes) -> bool:
    """Return whether a binary fraction (FL or FD) is one that a slide can have, in mm, um or nm."""
    if len(value) not in (4, 8):
        return False
    (number,) = struct.unpack("<f" if len(value) == 4 else "<d", value)
    return 0 <= number < _LARGEST_MEASURE


def _are_indexes(value: bytes) -> bool:
    numbers = [int.from_bytes(value[at : at + 4], "little") for at in range(0, len(value), 4)]
    return len(value) <= _MOST_INDEXES and all(number < _LARGEST_INDEX for number in numbers)


def _are_tags(value: bytes) -> bool:
    pairs = (value[at : at + 4] for at in range(0, len(value), 4))
    return all(
        len(pair) == 4
        and dictionary_has_tag(int.from_bytes(pair[:2], "little") << 16 | int.from_bytes(pair[2:], "little"))
        for pair in pairs
    )


def _is_standard(value: bytes) -> bool:
    return all(not uid or is_standard_uid(uid) for uid in split_values(value))


_YES: Final = _are_terms("YES", "NO")
_NO: Final = _are_terms("NO")

#: Values of ImageType and FrameType; any other becomes NONE.
TYPES: Final = frozenset({b"ORIGINAL", b"DERIVED", b"PRIMARY", b"VOLUME", b"NONE", b"RESAMPLED"})
LEAVES: Final[Mapping[int, Rule]] = MappingProxyType({
    0x0008_0005: _are_terms(
        *(f"ISO_IR {part}" for part in (6, 13, 100, 101, 109, 110, 126, 127, 138, 144, 148, 166, 192, 203)),
        *(f"ISO 2022 IR {part}" for part in (6, 13, 58, 87, 100, 101, 109, 110, 126, 127, 138, 144, 148, 149, 159)),
        *("ISO 2022 IR 166", "GB18030", "GBK"),
    ),  # SpecificCharacterSet
    0x0008_0016: _is_standard,  # SOPClassUID
    0x0008_0060: _are_terms("SM"),  # Modality
    0x0008_9205: _are_terms("COLOR", "MONOCHROME", "MIXED", "TRUE_COLOR"),  # PixelPresentation
    0x0008_9206: _are_terms("VOLUME", "SAMPLED", "DISTORTED", "MIXED"),  # VolumetricProperties
    0x0008_9207: _are_terms("NONE", "MIXED"),  # VolumeBasedCalculationTechnique
    0x0018_0050: _are_numbers,  # SliceThickness
    0x0018_0088: _are_numbers,  # SpacingBetweenSlices
    0x0020_0011: _is_small,  # SeriesNumber
    0x0020_0013: _is_small,  # InstanceNumber
    0x0020_1040: _are_terms("SLIDE_CORNER"),  # PositionReferenceIndicator
    0x0020_9157: _are_indexes,  # DimensionIndexValues
    0x0020_9162: _is_count,  # InConcatenationNumber
    0x0020_9163: _is_count,  # InConcatenationTotalNumber
    0x0020_9165: _are_tags,  # DimensionIndexPointer
    0x0020_9167: _are_tags,  # FunctionalGroupPointer
    0x0020_9228: _is_count,  # ConcatenationFrameOffsetNumber
    0x0020_9311: _are_terms("3D", "3D_TEMPORAL", "TILED_FULL", "TILED_SPARSE"),  # DimensionOrganizationType
    0x0022_0055: _is_measure,  # IlluminationWaveLength
    0x0028_0002: _is_count,  # SamplesPerPixel
    0x0028_0004: _are_terms(
        "MONOCHROME2", "RGB", "YBR_FULL", "YBR_FULL_422", "YBR_ICT", "YBR_RCT"
    ),  # PhotometricInterpretation
    0x0028_0006: _is_count,  # PlanarConfiguration
    0x0028_0008: _are_numbers,  # NumberOfFrames
    0x0028_0009: _are_tags,  # FrameIncrementPointer
    0x0028_0010: _is_count,  # Rows
    0x0028_0011: _is_count,  # Columns
    0x0028_0030: _are_numbers,  # PixelSpacing
    0x0028_0034: _are_numbers,  # PixelAspectRatio
    0x0028_0100: _is_count,  # BitsAllocated
    0x0028_0101: _is_count,  # BitsStored
    0x0028_0102: _is_count,  # HighBit
    0x0028_0103: _is_count,  # PixelRepresentation
    0x0028_0301: _NO,  # BurnedInAnnotation
    0x0028_0302: _YES,  # RecognizableVisualFeatures
    0x0028_2002: _are_terms("SRGB", "ADOBERGB", "ROMMRGB"),  # ColorSpace
    0x0028_2110: _are_terms("00", "01"),  # LossyImageCompression
    0x0028_2112: _are_numbers,  # LossyImageCompressionRatio
    0x0028_2114: _are_terms(
        *("ISO_10918_1", "ISO_14495_1", "ISO_15444_1", "ISO_15444_15", "ISO_18181_1")
    ),  # LossyImageCompressionMethod
    0x0040_072A: _are_numbers,  # XOffsetInSlideCoordinateSystem
    0x0040_073A: _are_numbers,  # YOffsetInSlideCoordinateSystem
    0x0040_074A: _are_numbers,  # ZOffsetInSlideCoordinateSystem
    0x0048_0001: _is_measure,  # ImagedVolumeWidth
    0x0048_0002: _is_measure,  # ImagedVolumeHeight
    0x0048_0003: _is_measure,  # ImagedVolumeDepth
    0x0048_0006: _is_count,  # TotalPixelMatrixColumns
    0x0048_0007: _is_count,  # TotalPixelMatrixRows
    0x0048_0010: _NO,  # SpecimenLabelInImage
    0x0048_0011: _are_terms("AUTO", "MANUAL"),  # FocusMethod
    0x0048_0012: _YES,  # ExtendedDepthOfField
    0x0048_0013: _is_count,  # NumberOfFocalPlanes
    0x0048_0014: _is_measure,  # DistanceBetweenFocalPlanes
    0x0048_0102: _are_numbers,  # ImageOrientationSlide
    0x0048_0111: _are_numbers,  # CondenserLensPower
    0x0048_0112: _are_numbers,  # ObjectiveLensPower
    0x0048_0113: _are_numbers,  # ObjectiveLensNumericalAperture
    0x0048_021E: _is_count,  # ColumnPositionInTotalImagePixelMatrix
    0x0048_021F: _is_count,  # RowPositionInTotalImagePixelMatrix
    0x0048_0301: _are_terms("FRAME", "VOLUME"),  # PixelOriginInterpretation
    0x0048_0302: _is_count,  # NumberOfOpticalPaths
    0x0048_0303: _is_count,  # TotalPixelMatrixFocalPlanes
    0x0048_0304: _YES,  # TilesOverlap
    0x2050_0020: _are_terms("IDENTITY", "INVERSE"),  # PresentationLUTShape
})  # fmt: skip

#: Sequences whose items are cleaned one by one.
SEQUENCES: Final = frozenset(
    {
        0x0020_9111,  # FrameContentSequence
        0x0020_9221,  # DimensionOrganizationSequence
        0x0020_9222,  # DimensionIndexSequence
        0x0028_9110,  # PixelMeasuresSequence
        0x0040_0560,  # SpecimenDescriptionSequence
        0x0040_0710,  # WholeSlideMicroscopyImageFrameTypeSequence
        0x0048_0008,  # TotalPixelMatrixOriginSequence
        0x0048_0105,  # OpticalPathSequence
        0x0048_0207,  # OpticalPathIdentificationSequence
        0x0048_021A,  # PlanePositionSlideSequence
        0x5200_9229,  # SharedFunctionalGroupsSequence
        0x5200_9230,  # PerFrameFunctionalGroupsSequence
    }
)
#: Sequences of codes, which are rewritten with the standard's own meanings.
CODED: Final = frozenset(
    {
        0x0022_0016,  # IlluminationTypeCodeSequence
        0x0022_0017,  # LightPathFilterTypeStackCodeSequence
        0x0022_0018,  # ImagePathFilterTypeStackCodeSequence
        0x0022_0019,  # LensesCodeSequence
        0x0048_0100,  # IlluminatorTypeCodeSequence
        0x0048_0108,  # IlluminationColorCodeSequence
    }
)
