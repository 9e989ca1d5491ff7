"""The header of one DICOM file, as far as reading needs it. Names, dates and numbers of patients are never read. Names
of elements are those of PS3.6."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from wsi.slide.dicom.buffered_range_reader import BufferedRangeReader
from wsi.slide.dicom.elements import OPTICAL_PATH_IDENTIFIER, PER_FRAME_GROUPS, PIXEL_MEASURES, PIXEL_SPACING
from wsi.slide.dicom.fields import Fields, Wanted, read_fields
from wsi.slide.dicom.identity import IMAGE_TYPE, INSTANCE, SERIES, read_image_kind
from wsi.slide.dicom.meta import Meta, is_implicit_vr
from wsi.slide.dicom.positions import parse_spacing
from wsi.slide.tiff import make_damaged_error

_EPIFLUORESCENCE: Final = "111743"  #: DCM code of the illumination (PS3.16, CID 8123)
_CODE_VALUE: Final = 0x0008_0100
_ILLUMINATION: Final = 0x0022_0016  #: IlluminationTypeCodeSequence
_ICC_PROFILE: Final = 0x0028_2000
_OPTICAL_PATHS: Final = 0x0048_0105  #: OpticalPathSequence
_SHARED_GROUPS: Final = 0x5200_9229  #: SharedFunctionalGroupsSequence
_TAGS: Final[Mapping[str, int]] = MappingProxyType({
    "FrameOfReferenceUID": 0x0020_0052,
    "ConcatenationUID": 0x0020_9161,
    "InConcatenationNumber": 0x0020_9162,
    "InConcatenationTotalNumber": 0x0020_9163,
    "ConcatenationFrameOffsetNumber": 0x0020_9228,
    "DimensionOrganizationType": 0x0020_9311,
    "SamplesPerPixel": 0x0028_0002,
    "PhotometricInterpretation": 0x0028_0004,
    "PlanarConfiguration": 0x0028_0006,
    "NumberOfFrames": 0x0028_0008,
    "Rows": 0x0028_0010,
    "Columns": 0x0028_0011,
    "BitsAllocated": 0x0028_0100,
    "BitsStored": 0x0028_0101,
    "PixelRepresentation": 0x0028_0103,
    "TotalPixelMatrixColumns": 0x0048_0006,
    "TotalPixelMatrixRows": 0x0048_0007,
    "TotalPixelMatrixFocalPlanes": 0x0048_0303,
})  # fmt: skip
_WANTED: Final[Wanted] = {
    IMAGE_TYPE: None,
    INSTANCE: None,
    SERIES: None,
    PIXEL_SPACING: None,
    **dict.fromkeys(_TAGS.values()),
    _OPTICAL_PATHS: {OPTICAL_PATH_IDENTIFIER: None, _ILLUMINATION: {_CODE_VALUE: None}, _ICC_PROFILE: None},
    _SHARED_GROUPS: {PIXEL_MEASURES: {PIXEL_SPACING: None}},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """The place of one file in a concatenation, which is an image that several files hold together."""

    picture: str
    number: int  #: from 1
    total: int | None  #: of parts
    first: int | None  #: frames in the parts before


@dataclass(frozen=True, slots=True)
class OpticalPath:
    identifier: str
    fluorescence: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class DicomHeader:
    syntax: str
    implicit: bool  #: the elements state no value representations
    kind: str  #: third value of ImageType
    series: str
    instance: str  #: SOPInstanceUID
    place: str | None  #: frame of reference
    part: Part | None
    width: int  #: px of the level
    height: int
    tile_width: int
    tile_height: int
    frames: int
    tiled_full: bool  #: frames are stored row by row and none is left out
    samples: int
    bits: tuple[int, int]  #: allocated, stored
    signed: bool
    photometric: str
    by_plane: bool  #: samples of a colour are stored together
    spacing: tuple[float, float] | None  #: mm between rows and between columns
    stray_spacing: tuple[float, float] | None  #: the same, outside of the functional groups, where it does not belong
    focal_planes: int  #: as it says; some writers say 1 of several
    paths: tuple[OpticalPath, ...]  #: in the order of their frames
    icc: bool
    end: int  #: where the first element that was not read starts


def read_header(reader: BufferedRangeReader, meta: Meta) -> DicomHeader:
    """Return the header of a file of `SLIDE_CLASS` whose elements are readable. Raises SlideRejected DAMAGED,
    TRUNCATED; SourceError."""
    implicit = is_implicit_vr(reader, meta)
    found, end = read_fields(reader, meta.end, _WANTED, implicit=implicit, until=PER_FRAME_GROUPS)
    rows, columns = _number(found, "Rows"), _number(found, "Columns")
    paths = found.get_items(_OPTICAL_PATHS)
    measures = [group for groups in found.get_items(_SHARED_GROUPS) for group in groups.get_items(PIXEL_MEASURES)]
    frames = found.parse_decimal(_TAGS["NumberOfFrames"])
    return DicomHeader(
        syntax=meta.syntax,
        implicit=implicit,
        kind=read_image_kind(found),
        series=found.get_text(SERIES),
        instance=found.get_text(INSTANCE) or meta.instance,
        place=_text(found, "FrameOfReferenceUID") or None,
        part=_part(found),
        width=_number(found, "TotalPixelMatrixColumns", columns),
        height=_number(found, "TotalPixelMatrixRows", rows),
        tile_width=columns,
        tile_height=rows,
        frames=1 if frames is None else frames,
        tiled_full=_text(found, "DimensionOrganizationType").upper() == "TILED_FULL",
        samples=_number(found, "SamplesPerPixel"),
        bits=(_number(found, "BitsAllocated"), _number(found, "BitsStored", _number(found, "BitsAllocated"))),
        signed=_number(found, "PixelRepresentation", 0) != 0,
        photometric=_text(found, "PhotometricInterpretation").upper(),
        by_plane=_number(found, "PlanarConfiguration", 0) == 1,
        spacing=parse_spacing(measures[0].get_texts(PIXEL_SPACING)) if measures else None,
        stray_spacing=parse_spacing(found.get_texts(PIXEL_SPACING)),
        focal_planes=_number(found, "TotalPixelMatrixFocalPlanes", 1),
        paths=tuple({path.identifier: path for path in map(_optical_path, paths)}.values()),
        icc=any(_ICC_PROFILE in path.values for path in paths),
        end=end,
    )


def _optical_path(item: Fields) -> OpticalPath:
    return OpticalPath(
        item.get_text(OPTICAL_PATH_IDENTIFIER),
        any(code.get_text(_CODE_VALUE) == _EPIFLUORESCENCE for code in item.get_items(_ILLUMINATION)),
    )


def _part(found: Fields) -> Part | None:
    picture = _text(found, "ConcatenationUID")
    if not picture:
        return None
    return Part(
        picture=picture,
        number=_number(found, "InConcatenationNumber"),
        total=found.parse_integer(_TAGS["InConcatenationTotalNumber"]),
        first=found.parse_integer(_TAGS["ConcatenationFrameOffsetNumber"]),
    )


def _text(found: Fields, name: str) -> str:
    return found.get_text(_TAGS[name])


def _number(found: Fields, name: str, default: int | None = None) -> int:
    value = found.parse_integer(_TAGS[name])
    if value is None:
        value = default
    if value is None:
        raise make_damaged_error("A DICOM file of the slide does not say how its picture is laid out.")
    return value
