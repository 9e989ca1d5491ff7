"""What the header of one DICOM file says, as far as reading needs it. Names, dates and numbers of patients are never
asked for, and nothing that pydicom says of a value leaves this module."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, cast

import pydicom
from pydicom.config import logger as LOGGER
from pydicom.filereader import read_partial
from pydicom.tag import BaseTag, Tag

from wsi.errors import SlideRejected, SourceError
from wsi.slide.dicom.elements import PER_FRAME_GROUPS
from wsi.slide.dicom.passage import Passage, PassageFile, cut_short
from wsi.slide.dicom.positions import spacing
from wsi.slide.tiff import damaged

_EPIFLUORESCENCE: Final = "111743"  #: DCM code of the illumination (PS3.16, CID 8123)
_MAX_HEADER: Final = 8 * 1024**2  #: bytes read; colour profiles take up to 3 MB
_MAX_READS: Final = 100_000  #: each about one element; headers have some hundreds
_MAX_ITEMS: Final = 1_000  #: of a sequence, with those of the sequences in it
_ITEM: Final = bytes.fromhex("feff00e0")
_TAGS: Final[tuple[BaseTag, ...]] = tuple(Tag(keyword) for keyword in (
    "ImageType", "SeriesInstanceUID", "FrameOfReferenceUID", "ConcatenationUID", "InConcatenationNumber",
    "InConcatenationTotalNumber", "ConcatenationFrameOffsetNumber", "DimensionOrganizationType", "NumberOfFrames",
    "Rows", "Columns", "SamplesPerPixel", "PhotometricInterpretation", "PlanarConfiguration", "BitsAllocated",
    "BitsStored", "PixelRepresentation", "TotalPixelMatrixColumns", "TotalPixelMatrixRows",
    "TotalPixelMatrixFocalPlanes", "OpticalPathSequence", "SharedFunctionalGroupsSequence",
))  # fmt: skip
_SILENCE: Final = threading.Lock()


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Of a picture that several files hold together (concatenation)."""

    picture: str
    number: int  #: from 1
    total: int | None  #: of parts
    first: int | None  #: frames in the parts before


@dataclass(frozen=True, slots=True)
class OpticalPath:
    identifier: str
    fluorescence: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    syntax: str
    kind: str  #: third value of ImageType
    series: str
    place: str | None  #: frame of reference
    part: Part | None
    width: int  #: px of the level
    height: int
    tile_width: int
    tile_height: int
    frames: int
    tiled_full: bool  #: frames lie row by row and none is left out
    samples: int
    bits: tuple[int, int]  #: allocated, stored
    signed: bool
    photometric: str
    by_plane: bool  #: samples of a colour lie together
    spacing: tuple[float, float] | None  #: mm between rows and between columns
    focal_planes: int  #: as it says; some writers say 1 of several
    paths: tuple[OpticalPath, ...]  #: in the order of their frames
    icc: bool
    end: int  #: where the first element that was not read starts


def read_header(passage: Passage, syntax: str) -> Header:
    """Of a file of `SLIDE_CLASS`. Raises SlideRejected DAMAGED, TRUNCATED."""
    file = PassageFile(passage, size=_MAX_HEADER, reads=_MAX_READS)
    try:
        with _quiet():
            found = read_partial(cast("BinaryIO", file), stop_when=_is_read, specific_tags=[*_TAGS])
            if not file.ended:
                return _header(found, syntax, file)
    except (SlideRejected, SourceError):
        raise
    except Exception:  # noqa: BLE001 - whatever pydicom makes of a damaged header, and its words may name a patient
        if not file.ended:
            raise damaged("The header of a DICOM file of the slide is damaged.") from None
    raise cut_short()


@contextmanager
def _quiet() -> Generator[None]:
    """Without pydicom's warnings and logs, which say what the values are that are not as they should be. Both belong to
    the process, so that one thread at a time may do so."""
    with _SILENCE, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, LOGGER.disabled = LOGGER.disabled, True
        try:
            yield
        finally:
            LOGGER.disabled = before


def _is_read(tag: int, vr: str | None, length: int) -> bool:
    return tag >= PER_FRAME_GROUPS


def _header(file: pydicom.Dataset, syntax: str, passage: PassageFile) -> Header:
    kinds = _several(file.get("ImageType"))
    rows, columns = _number(file, "Rows"), _number(file, "Columns")
    paths, shared = _sequence(file, "OpticalPathSequence"), _sequence(file, "SharedFunctionalGroupsSequence")
    measures = [group for groups in shared for group in groups.get("PixelMeasuresSequence") or ()]
    return Header(
        syntax=syntax,
        kind=str(kinds[2]).strip().upper() if len(kinds) > 2 else "",
        series=str(file.get("SeriesInstanceUID") or ""),
        place=str(file.get("FrameOfReferenceUID") or "") or None,
        part=_part(file),
        width=_number(file, "TotalPixelMatrixColumns", columns),
        height=_number(file, "TotalPixelMatrixRows", rows),
        tile_width=columns,
        tile_height=rows,
        frames=_number(file, "NumberOfFrames", 1),
        tiled_full=str(file.get("DimensionOrganizationType") or "").strip().upper() == "TILED_FULL",
        samples=_number(file, "SamplesPerPixel"),
        bits=(_number(file, "BitsAllocated"), _number(file, "BitsStored", _number(file, "BitsAllocated"))),
        signed=_number(file, "PixelRepresentation", 0) != 0,
        photometric=str(file.get("PhotometricInterpretation") or "").strip().upper(),
        by_plane=_number(file, "PlanarConfiguration", 0) == 1,
        spacing=spacing([str(value) for value in _several(measures[0].get("PixelSpacing"))]) if measures else None,
        focal_planes=_number(file, "TotalPixelMatrixFocalPlanes", 1),
        paths=tuple({path.identifier: path for path in map(_optical_path, paths)}.values()),
        icc=any("ICCProfile" in path for path in paths),
        end=passage.tell(),
    )


def _sequence(file: pydicom.Dataset, keyword: str) -> Sequence[pydicom.Dataset]:
    """pydicom reads one of known length as bytes, of which it makes objects now."""
    raw: Any = file.get_item(keyword).value if keyword in file else b""
    if isinstance(raw, bytes) and raw.count(_ITEM) > _MAX_ITEMS:
        raise damaged("The header of a DICOM file of the slide lists more than any slide has.")
    return file.get(keyword) or ()


def _optical_path(item: pydicom.Dataset) -> OpticalPath:
    codes = item.get("IlluminationTypeCodeSequence") or ()
    return OpticalPath(
        str(item.get("OpticalPathIdentifier") or "").strip(),
        any(str(code.get("CodeValue")) == _EPIFLUORESCENCE for code in codes),
    )


def _part(file: pydicom.Dataset) -> Part | None:
    picture = str(file.get("ConcatenationUID") or "")
    if not picture:
        return None
    return Part(
        picture=picture,
        number=_number(file, "InConcatenationNumber"),
        total=_optional(file, "InConcatenationTotalNumber"),
        first=_optional(file, "ConcatenationFrameOffsetNumber"),
    )


def _number(file: pydicom.Dataset, keyword: str, default: int | None = None) -> int:
    value = _optional(file, keyword)
    if value is None:
        value = default
    if value is None:
        raise damaged("A DICOM file of the slide does not say how its picture is laid out.")
    return value


def _optional(file: pydicom.Dataset, keyword: str) -> int | None:
    value: Any = file.get(keyword)
    return None if value is None or value == "" else int(value)


def _several(value: Any) -> list[Any]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else list(value)
