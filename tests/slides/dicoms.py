"""DICOM slides in the ways that scanners and converters write them, by pydicom. One file is one picture, or a part."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import imagecodecs
import numpy as np
import simplejpeg
from numpy.typing import NDArray
from pydicom import DataElement, Dataset, FileMetaDataset
from pydicom.encaps import encapsulate, encapsulate_extended
from pydicom.uid import UID

from tests.slides import he_tissue

SLIDE: Final = "1.2.840.10008.5.1.4.1.1.77.1.6"
ANNOTATIONS: Final = "1.2.840.10008.5.1.4.1.1.91.1"
IMPLICIT: Final = "1.2.840.10008.1.2"
EXPLICIT: Final = "1.2.840.10008.1.2.1"
JPEG: Final = "1.2.840.10008.1.2.4.50"
EPIFLUORESCENCE: Final = "111743"
JPEG_2000: Final = "1.2.840.10008.1.2.4.90"
JPEG_2000_LOSSY: Final = "1.2.840.10008.1.2.4.91"
PATIENT: Final = "Doeringer"  #: in every file, and nowhere else
SERIES: Final = "1.2.826.0.1.3680043.8.498.7"
_ITEM: Final = bytes.fromhex("feff00e0")
_ADOBE_RGB: Final = bytes.fromhex("ffee000e41646f626500640000000000")

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How one file is written; the defaults are what a scanner does."""

    syntax: str = JPEG
    photometric: str = "YBR_FULL_422"
    tile: int = 64
    table: str = "basic"  #: "basic", "extended" or "none"
    fragments: int = 1  #: a frame
    cut: Sequence[int] = ()  #: frames in two items each, where the others have one
    adobe_rgb: bool = False  #: a marker in each JPEG that contradicts the photometric interpretation
    by_plane: bool = False
    sparse: bool = False
    tiles: Sequence[int] | None = None  #: of the grid, row-major, in the order of the frames; None for all
    spacing: tuple[float, float] | None = (0.0005, 0.0005)  #: mm between rows and between columns
    kind: str = "VOLUME"
    series: str = SERIES
    place: str = SERIES + ".1"
    part: tuple[int, int | None, int] | None = None  #: number, total, frames before
    paths: int = 1  #: optical paths, each with all frames
    planes: int = 1  #: of focus, each with all frames
    heights: Sequence[float] = (0.0, 0.002, 0.004)  #: of the planes, in their order in the file
    first_path: int = 1  #: identifier of the first
    dark: Sequence[int] = ()  #: identifiers of paths in fluorescence
    illumination: str = "111744"  #: brightfield
    icc: bytes = b""
    delimited: bool = False  #: sequences and their items end with a delimiter, and state no length
    instance: str | None = None  #: SOPInstanceUID; None for one that follows from what the file holds
    study: str = SERIES + ".100"
    more: dict[str, Any] = field(default_factory=dict)  #: elements that replace others; None takes one away

    def __str__(self) -> str:
        """What differs from the defaults."""
        default = type(self).__dataclass_fields__
        says = [f"{name}={value}" for name in default if (value := getattr(self, name)) != getattr(_DEFAULT, name)]
        return " ".join(says) or "default"


_DEFAULT: Final = Writing()


def tissue(width: int, height: int, seed: int = 0) -> Pixels:
    return he_tissue(np.random.default_rng(seed), height, width)


def write_picture(path: Path, picture: Pixels, how: Writing | None = None, *further: Pixels) -> Path:
    """`picture` is [height, width, 3], or [height, width] for grey. With `further` each plane of each optical path has
    a picture of its own; without, all have the same."""
    how = how or Writing()
    layers = (picture, *further) if further else (picture,) * how.paths * how.planes
    assert len(layers) == how.paths * how.planes
    frames = [frame for layer in layers for frame in _frames(layer, how)]
    dataset = _described(picture, how, len(frames))
    packed = how.syntax not in (IMPLICIT, EXPLICIT)
    if not packed:
        dataset.PixelData = b"".join(frames)
    elif how.table == "extended":
        pixels, dataset.ExtendedOffsetTable, dataset.ExtendedOffsetTableLengths = encapsulate_extended(frames)
        dataset.PixelData = pixels
    elif how.cut:
        dataset.PixelData = _cut(frames, how)
    else:
        dataset.PixelData = encapsulate(frames, fragments_per_frame=how.fragments, has_bot=how.table == "basic")
    dataset["PixelData"].VR = "OB"
    dataset["PixelData"].is_undefined_length = packed
    _name_instance(dataset, how.instance or f"{SERIES}.{zlib.crc32(repr((how, picture.shape)).encode() + frames[0])}")
    for keyword, value in how.more.items():
        if value is None:
            delattr(dataset, keyword)
        else:
            setattr(dataset, keyword, value)
    if how.delimited:
        for element in dataset.iterall():
            if element.VR == "SQ":
                _delimit(element)
    dataset.save_as(path, enforce_file_format=True)
    return path


def _delimit(sequence: DataElement) -> None:
    sequence.is_undefined_length = True
    for item in sequence.value:
        item.is_undefined_length_sequence_item = True


def write_pyramid(folder: Path, base: Pixels, count: int, how: Writing | None = None) -> list[Path]:
    """`count` levels, each half of the one before, largest first."""
    how = how or Writing()
    paths: list[Path] = []
    for level in range(count):
        spacing = tuple(side * 2**level for side in how.spacing or (0, 0))
        picture = np.ascontiguousarray(base[:: 2**level, :: 2**level])
        paths.append(write_picture(folder / f"{level}.dcm", picture, replace(how, spacing=spacing)))
    return paths


def _cut(frames: Sequence[bytes], how: Writing) -> bytes:
    """As a writer with a largest size of items does it."""
    items: list[bytes] = []
    for number, frame in enumerate(frames):
        whole = frame + b"\0" * (len(frame) % 2)
        middle = len(whole) // 4 * 2
        parts = (whole[:middle], whole[middle:]) if number in how.cut else (whole,)
        items.append(b"".join(_ITEM + len(part).to_bytes(4, "little") + part for part in parts))
    starts = np.cumsum([0, *map(len, items[:-1])]).astype("<u4").tobytes() if how.table == "basic" else b""
    return b"".join((_ITEM, len(starts).to_bytes(4, "little"), starts, *items))


def frame_groups(places: Sequence[tuple[int, int]], how: Writing) -> list[Dataset]:
    """What is said of each frame; `places` are (x, y) of its corner in the picture, from 0."""
    groups: list[Dataset] = []
    for path in range(how.first_path, how.first_path + how.paths):
        for plane in range(how.planes):
            for x, y in places:
                position = Dataset()
                position.ZOffsetInSlideCoordinateSystem = f"{how.heights[plane]:.3f}"
                position.ColumnPositionInTotalImagePixelMatrix = x + 1
                position.RowPositionInTotalImagePixelMatrix = y + 1
                identified = Dataset()
                identified.OpticalPathIdentifier = str(path)
                group = Dataset()
                group.PlanePositionSlideSequence = [position]
                group.OpticalPathIdentificationSequence = [identified]
                groups.append(group)
    return groups


def write_annotations(path: Path) -> Path:
    """A result object, as viewers leave it beside the slide."""
    dataset = _object(ANNOTATIONS, EXPLICIT)
    dataset.SeriesInstanceUID = SERIES + ".9"
    dataset.save_as(path, enforce_file_format=True)
    return path


def _grid(picture: Pixels, how: Writing) -> list[tuple[int, int]]:
    """(x, y) of each tile, row-major."""
    height, width = picture.shape[:2]
    return [(x, y) for y in range(0, height, how.tile) for x in range(0, width, how.tile)]


def _places(picture: Pixels, how: Writing) -> list[tuple[int, int]]:
    grid = _grid(picture, how)
    return [grid[tile] for tile in (range(len(grid)) if how.tiles is None else how.tiles)]


def _frames(picture: Pixels, how: Writing) -> list[bytes]:
    edges = [(0, -side % how.tile) for side in picture.shape[:2]]
    padded = np.pad(picture, [*edges, (0, 0)][: picture.ndim], mode="edge")
    cut = [padded[y : y + how.tile, x : x + how.tile] for x, y in _places(picture, how)]
    return [_packed(np.ascontiguousarray(frame), how) for frame in cut]


def _packed(frame: Pixels, how: Writing) -> bytes:
    if how.syntax in (JPEG_2000, JPEG_2000_LOSSY):
        exact = how.syntax == JPEG_2000
        return imagecodecs.jpeg2k_encode(frame, level=0 if exact else 40, reversible=exact, codecformat="j2k", mct=True)
    if how.syntax != JPEG:
        return (frame.transpose(2, 0, 1) if how.by_plane else frame).tobytes()
    if frame.ndim == 2:
        return simplejpeg.encode_jpeg(frame[..., None], quality=90, colorspace="GRAY")
    jpeg = simplejpeg.encode_jpeg(frame, quality=90, colorspace="RGB", colorsubsampling="422")
    return jpeg[:2] + _ADOBE_RGB + jpeg[20:] if how.adobe_rgb else jpeg  # in place of its JFIF marker


def _object(sop_class: str, syntax: str) -> Dataset:
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = UID(sop_class)
    meta.TransferSyntaxUID = UID(syntax)
    dataset = Dataset()
    dataset.file_meta = meta
    dataset.SOPClassUID = meta.MediaStorageSOPClassUID
    _name_instance(dataset, f"{SERIES}.2")
    dataset.PatientName, dataset.PatientID = f"{PATIENT}^Ada", f"{PATIENT}-17"
    return dataset


def _name_instance(dataset: Dataset, uid: str) -> None:
    dataset.SOPInstanceUID = dataset.file_meta.MediaStorageSOPInstanceUID = UID(uid)


def _described(picture: Pixels, how: Writing, frames: int) -> Dataset:
    height, width = picture.shape[:2]
    dataset = _object(SLIDE, how.syntax)
    dataset.ImageType = ["ORIGINAL", "PRIMARY", how.kind, "NONE"]
    dataset.StudyInstanceUID, dataset.SeriesInstanceUID = how.study, how.series
    dataset.FrameOfReferenceUID = how.place
    if how.part is not None:
        dataset.ConcatenationUID = SERIES + f".{width}.5"
        dataset.InConcatenationNumber = how.part[0]
        if how.part[1] is not None:
            dataset.InConcatenationTotalNumber = how.part[1]
        dataset.ConcatenationFrameOffsetNumber = how.part[2]
    dataset.DimensionOrganizationType = "TILED_SPARSE" if how.sparse else "TILED_FULL"
    dataset.NumberOfFrames = frames
    dataset.Rows = dataset.Columns = how.tile
    dataset.SamplesPerPixel = 1 if picture.ndim == 2 else 3
    dataset.PhotometricInterpretation = how.photometric
    if picture.ndim == 3:
        dataset.PlanarConfiguration = int(how.by_plane)
    dataset.BitsAllocated = dataset.BitsStored = 8
    dataset.HighBit, dataset.PixelRepresentation = 7, 0
    dataset.TotalPixelMatrixColumns, dataset.TotalPixelMatrixRows = width, height
    dataset.TotalPixelMatrixFocalPlanes = how.planes
    dataset.OpticalPathSequence = [_path(how.first_path + number, how) for number in range(how.paths)]
    if how.spacing is not None:
        measures = Dataset()
        measures.PixelSpacing = [format(side, ".10g") for side in how.spacing]
        shared = Dataset()
        shared.PixelMeasuresSequence = [measures]
        dataset.SharedFunctionalGroupsSequence = [shared]
    if how.sparse:
        dataset.PerFrameFunctionalGroupsSequence = frame_groups(_places(picture, how), how)
    return dataset


def _path(number: int, how: Writing) -> Dataset:
    code = Dataset()
    code.CodeValue = EPIFLUORESCENCE if number in how.dark else how.illumination
    code.CodingSchemeDesignator, code.CodeMeaning = "DCM", "illumination"
    path = Dataset()
    path.OpticalPathIdentifier = str(number)
    path.IlluminationTypeCodeSequence = [code]
    if how.icc:
        path.ICCProfile = how.icc
    return path
