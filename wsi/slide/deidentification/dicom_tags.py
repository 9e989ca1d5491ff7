"""The elements of a DICOM file that stay: those by which its pixels are found, read, coloured and measured. All others
are blanked, unknown ones too.

Names are those of PS3.6. More is blanked than the Basic Application Level Confidentiality Profile lists (PS3.15, annex
E).
"""

from __future__ import annotations

from typing import Final

#: Of the file's meta information: what it holds and how it is written.
_META: Final = frozenset({0x0002_0001, 0x0002_0002, 0x0002_0010})
_LEAVES: Final = frozenset(
    {
        0x0008_0005,  # SpecificCharacterSet
        0x0008_0008,  # ImageType
        0x0008_0016,  # SOPClassUID
        0x0008_0060,  # Modality
        0x0008_0070,  # Manufacturer
        0x0008_0100,  # CodeValue
        0x0008_0102,  # CodingSchemeDesignator
        0x0008_0103,  # CodingSchemeVersion
        0x0008_0104,  # CodeMeaning
        0x0008_1090,  # ManufacturerModelName
        0x0008_9007,  # FrameType
        0x0008_9205,  # PixelPresentation
        0x0008_9206,  # VolumetricProperties
        0x0008_9207,  # VolumeBasedCalculationTechnique
        0x0020_0011,  # SeriesNumber
        0x0020_0013,  # InstanceNumber
        0x0020_9157,  # DimensionIndexValues
        0x0020_9162,  # InConcatenationNumber
        0x0020_9163,  # InConcatenationTotalNumber
        0x0020_9165,  # DimensionIndexPointer
        0x0020_9167,  # FunctionalGroupPointer
        0x0020_9228,  # ConcatenationFrameOffsetNumber
        0x0020_9311,  # DimensionOrganizationType
        0x0040_072A,  # XOffsetInSlideCoordinateSystem
        0x0040_073A,  # YOffsetInSlideCoordinateSystem
        0x0040_074A,  # ZOffsetInSlideCoordinateSystem
        0x0048_0106,  # OpticalPathIdentifier
        0x2050_0020,  # PresentationLUTShape
        0x7FE0_0001,  # ExtendedOffsetTable
        0x7FE0_0002,  # ExtendedOffsetTableLengths
    }
)
_SEQUENCES: Final = frozenset(
    {
        0x0020_9111,  # FrameContentSequence
        0x0020_9221,  # DimensionOrganizationSequence
        0x0020_9222,  # DimensionIndexSequence
        0x0040_0710,  # WholeSlideMicroscopyImageFrameTypeSequence
    }
)
#: Groups that describe light (0022), pixels (0028) and the image on the glass (0048). All values in them stay but
#: text, which people may have typed.
_OF_PICTURES: Final = frozenset({0x0022, 0x0028, 0x0048, 0x5200})
_WORDS: Final = frozenset({"LO", "LT", "PN", "SH", "ST", "UC", "UN", "UR", "UT"})

IDENTITY_REMOVED: Final = 0x0012_0062  #: PatientIdentityRemoved
BURNED_IN: Final = 0x0028_0301  #: BurnedInAnnotation
LABEL_IN_IMAGE: Final = 0x0048_0010  #: SpecimenLabelInImage


def stays(tag: int, vr: str) -> bool:
    """Return whether a value stays as it is, if the sequences that hold it may stay. UIDs are not decided here."""
    group = tag >> 16
    if group % 2:
        return False
    if tag & 0xFFFF == 0:  # says how long its group is
        return vr == "UL"
    if tag in _LEAVES or tag in _META:
        return True
    return group in _OF_PICTURES and vr not in _WORDS


def opens(tag: int) -> bool:
    """Return whether values inside a sequence may stay; in other sequences all values are blanked."""
    return tag in _SEQUENCES or (tag >> 16) in _OF_PICTURES
