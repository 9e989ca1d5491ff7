"""The levels of a slide, from DICOM files: each is one file, or the parts of a concatenation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice
from wsi.slide.coding import Codec, Coding
from wsi.slide.dicom import elements
from wsi.slide.dicom.buffered_range_reader import BufferedRangeReader
from wsi.slide.dicom.choosing import FrameStack, choose_frames, stack_full, stack_sparse
from wsi.slide.dicom.elements import UNDEFINED, Element, ElementLimit, find_end, read_element
from wsi.slide.dicom.frames import MAX_FRAMES, Frames, join_frames, locate_native_frames, locate_packed_frames
from wsi.slide.dicom.header import DicomHeader, OpticalPath
from wsi.slide.dicom.pixels import read_coding
from wsi.slide.dicom.positions import Positions, read_positions
from wsi.slide.index import TileExtents
from wsi.slide.tiff import make_damaged_error

MAX_SIDE: Final = 2**31 - 1  #: px
_MAX_ELEMENTS: Final = 1_000  #: between the groups of the frames and the pixels; there are at most a dozen


@dataclass(frozen=True, kw_only=True, slots=True)
class PartialLevel:
    """The part of a level that one file holds."""

    file: int  #: its place among the slide's files
    header: DicomHeader
    coding: Coding
    frames: Frames
    positions: Positions | None

    @property
    def spacing(self) -> tuple[float, float] | None:
        of_frames = self.positions.spacing if self.positions is not None else None
        return self.header.spacing or of_frames or self.header.stray_spacing


@dataclass(frozen=True, kw_only=True, slots=True)
class Level:
    header: DicomHeader  #: of its first part
    coding: Coding
    pieces: TileExtents
    holes: bool
    spacing: tuple[float, float] | None  #: mm between rows and between columns
    paths: tuple[OpticalPath, ...]  #: that it holds
    planes: int  #: of focus that it holds
    unseen: int  #: places that only other planes than the chosen one have


def read_part(reader: BufferedRangeReader, file: int, header: DicomHeader) -> PartialLevel:
    """Read the part of a level in one file. Raises SlideRejected: what `coding` raises, DAMAGED, TRUNCATED,
    TOO_LARGE_FOR_FORMAT, CLAIMS_TOO_MUCH."""
    packing = read_coding(header)
    sides = (header.width, header.height)
    if not all(0 < side <= MAX_SIDE for side in sides) or not 0 < header.frames <= MAX_FRAMES:
        raise make_damaged_error(
            f"A DICOM file of the slide claims {header.frames:,} frames of {sides[0]:,} x {sides[1]:,} px."
        )
    if _tiles(header) > MAX_FRAMES:
        raise SlideRejected(
            RejectReason.CLAIMS_TOO_MUCH, f"The slide claims {sides[0]:,} x {sides[1]:,} px, more than can be read."
        )
    implicit = header.implicit
    tables: dict[int, Element] = {}
    positions: Positions | None = None
    at = header.end
    for _ in range(_MAX_ELEMENTS):
        found = read_element(reader, at, implicit=implicit)
        if found.tag >= elements.PIXELS:
            break
        at = 0
        if found.tag == elements.PER_FRAME_GROUPS and not (header.tiled_full and header.spacing):
            positions, at = read_positions(reader, found, header.frames, implicit=implicit)
        elif found.tag in (elements.OFFSETS, elements.LENGTHS):
            tables[found.tag] = found
        described = found.tag == elements.PER_FRAME_GROUPS
        limit = ElementLimit.of_frames(header.frames) if described else ElementLimit()
        at = at or find_end(reader, found, limit, implicit=implicit)
    else:
        raise make_damaged_error("A DICOM file of the slide hides its pixels behind too much else.")
    if found.tag != elements.PIXELS:
        raise make_damaged_error("A DICOM file of the slide holds no pixels.")
    return PartialLevel(
        file=file,
        header=header,
        coding=packing,
        frames=_frames(reader, header, packing, found, tables),
        positions=positions,
    )


def _frames(
    reader: BufferedRangeReader, header: DicomHeader, packing: Coding, pixels: Element, tables: dict[int, Element]
) -> Frames:
    if (packing.codec is Codec.NONE) != (pixels.length != UNDEFINED):
        raise make_damaged_error("The pixels in a DICOM file of the slide are not packed as it says.")
    if packing.codec is Codec.NONE:
        pieces = header.samples if packing.planes else 1
        return locate_native_frames(
            pixels.start,
            pixels.length,
            reader.size,
            frames=header.frames,
            piece=header.tile_width * header.tile_height * header.samples // pieces,
            pieces=pieces,
        )
    extended = None
    if len(tables) == 2:
        if any(table.length != 8 * header.frames for table in tables.values()):
            raise make_damaged_error("A DICOM file of the slide lists another number of frames than it claims.")
        offsets, lengths = (
            np.frombuffer(reader.read(tables[tag].start, tables[tag].length), "<u8")
            for tag in (elements.OFFSETS, elements.LENGTHS)
        )
        extended = offsets, lengths
    return locate_packed_frames(reader, pixels.start, header.frames, extended)


def group_parts(parts: Sequence[PartialLevel]) -> list[list[PartialLevel]]:
    """Group the files by image: the parts of a concatenation, and files of the same size whose frames state their
    places and never share one. Orthanc's converter cuts levels into such files of 10 MB each."""
    found: dict[object, list[PartialLevel]] = {}
    for part in parts:
        header = part.header
        if header.part is not None:
            found.setdefault(header.part.picture, []).append(part)
        elif part.positions is None:
            found[part.file] = [part]
        else:
            found.setdefault((header.width, header.height, *_tile(header), part.coding), []).append(part)
    return [
        group
        for joined in found.values()
        for group in ([joined] if len(joined) == 1 or joined[0].header.part or _apart(joined) else _each(joined))
    ]


def _each(parts: Sequence[PartialLevel]) -> list[list[PartialLevel]]:
    return [[part] for part in parts]


def _apart(parts: Sequence[PartialLevel]) -> bool:
    """Return whether no two frames are of the same place, height and optical path."""
    known = [part.positions for part in parts if part.positions is not None]
    names = list(dict.fromkeys(name for one in known for name in one.identifiers))
    paths = [np.array([*map(names.index, one.identifiers), -1], np.int64)[one.paths] for one in known]
    columns, rows = (np.concatenate([getattr(one, side) for one in known]) for side in ("columns", "rows"))
    heights = np.concatenate([one.heights for one in known])
    places = np.stack((columns, rows, np.concatenate(paths), heights.astype(np.float64)))
    return len(np.unique(places, axis=1).T) == len(columns)


def build_level(parts: Sequence[PartialLevel], choice: Choice | None) -> Level:
    """Build a level from the files of one image. Raises SlideRejected: MISSING_FILES, DAMAGED, UNSUPPORTED_FORMAT, what
    `chosen` raises."""
    parts = _in_order(parts)
    first = parts[0]
    shapes = {(part.coding, part.header.width, part.header.height, *_tile(part.header)) for part in parts}
    if len(shapes) > 1:
        raise make_damaged_error("Files that should hold parts of one picture disagree about it.")
    frames = join_frames([part.frames for part in parts])
    files = np.repeat([part.file for part in parts], [len(part.frames.offsets) for part in parts]).astype(np.int32)
    tiles = _tiles(first.header)
    total = len(frames.first) - 1
    if first.header.tiled_full or (first.positions is None and total == tiles):
        _check_count(first.header, total, tiles)
        stack = stack_full(total, tiles, first.header.paths)
    else:
        stack = _stack(parts)
    kept, unseen = choose_frames(stack, choice)
    if len(kept) == total == tiles and first.positions is None:
        pieces = TileExtents(frames.first, files, frames.offsets, frames.sizes)
    else:
        pieces = _place_frames(frames, files, kept, stack.places[kept], tiles)
    holes = len(kept) < tiles
    if holes and first.header.part is not None and first.header.part.total is None:
        raise _missing("The slide's picture lies in several files, which do not say how many there are")
    return Level(
        header=first.header,
        coding=first.coding,
        pieces=pieces,
        holes=holes,
        spacing=first.spacing,
        paths=stack.paths,
        planes=stack.planes,
        unseen=unseen,
    )


def cut(one: Level, width: int, height: int) -> Level:
    """Return the level with only the tiles that its upper left `width` x `height` px need."""
    header, pieces = one.header, one.pieces
    columns = -(-header.width // header.tile_width)
    kept = np.arange(len(pieces.first) - 1).reshape(-1, columns)
    kept = kept[: -(-height // header.tile_height), : -(-width // header.tile_width)].ravel()
    if len(kept) == len(pieces.first) - 1:
        return one
    each = np.diff(pieces.first)[kept]
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(each)))
    chosen = np.repeat(pieces.first[:-1][kept] - first[:-1], each) + np.arange(int(each.sum()))
    return replace(one, pieces=TileExtents(first, pieces.files[chosen], pieces.offsets[chosen], pieces.sizes[chosen]))


def _in_order(parts: Sequence[PartialLevel]) -> list[PartialLevel]:
    """Return the parts of a concatenation by number; other parts stay as they are. Raises SlideRejected unless each
    part is there once."""
    numbered = {part.header.part.number: part for part in parts if part.header.part is not None}
    if not numbered:
        return list(parts)
    if len(numbered) != len(parts):
        raise make_damaged_error("Two of the slide's DICOM files are the same part of one picture.")
    ordered = [numbered[number] for number in sorted(numbered)]
    says = {part.header.part.total for part in ordered if part.header.part is not None} - {None}
    count = max([len(ordered), *numbered, *(total for total in says if total is not None)])
    if sorted(numbered) != list(range(1, count + 1)):
        raise _missing(f"Of the {count:,} DICOM files that hold one picture of the slide {len(ordered):,} were sent")
    before = 0
    for part in ordered:
        if part.header.part is not None and part.header.part.first not in (None, before):
            raise make_damaged_error("The parts of a picture of the slide do not follow each other.")
        before += part.header.frames
    return ordered


def _stack(parts: Sequence[PartialLevel]) -> FrameStack:
    """Stack the frames by the places that each states. Raises SlideRejected."""
    header = parts[0].header
    known = [part.positions for part in parts if part.positions is not None]
    if len(known) != len(parts):
        raise make_damaged_error("A DICOM file of the slide does not say where its frames lie.")
    described = {path.identifier: path for path in header.paths}
    names = list(dict.fromkeys(name for one in known for name in one.identifiers)) or list(described)
    said = [one.paths for one in known]
    if len(names) > 1 and any((paths < 0).any() for paths in said):
        raise make_damaged_error("Frames of the slide's DICOM files do not say of which optical path they are.")
    # A frame that says nothing is of the only path.
    numbers = [np.array([*map(names.index, one.identifiers), 0], np.int64) for one in known]
    dark = any(path.fluorescence for path in header.paths)
    return stack_sparse(
        _places(header, known),
        np.concatenate([number[paths] for number, paths in zip(numbers, said, strict=True)]),
        np.concatenate([one.heights for one in known]),
        [described.get(name, OpticalPath(name, dark)) for name in names],
    )


def _places(header: DicomHeader, known: Sequence[Positions]) -> NDArray[np.int64]:
    """Return the row-major tile of each frame, [frames]. Raises SlideRejected."""
    columns = np.concatenate([one.columns for one in known]) - 1
    rows = np.concatenate([one.rows for one in known]) - 1
    inside = (columns >= 0) & (rows >= 0) & (columns < header.width) & (rows < header.height)
    if not inside.all():
        raise make_damaged_error("Frames of the slide's DICOM files lie outside its picture.")
    if (columns % header.tile_width).any() or (rows % header.tile_height).any():
        raise SlideRejected(
            RejectReason.UNSUPPORTED_FORMAT,
            "The tiles in the slide's DICOM files overlap or lie off the grid: export them side by side.",
        )
    return rows // header.tile_height * -(-header.width // header.tile_width) + columns // header.tile_width


def _place_frames(
    frames: Frames, files: NDArray[np.int32], kept: NDArray[np.int64], places: NDArray[np.int64], tiles: int
) -> TileExtents:
    """Return the pieces of the frames `kept`, which are at `places`, in the order of the tiles. Raises
    SlideRejected."""
    if len(np.unique(places)) != len(places):
        raise make_damaged_error("Two frames of the slide's DICOM files lie at the same place.")
    order = np.argsort(places)
    each = np.diff(frames.first)[kept][order]
    counts = np.zeros(tiles, np.int64)
    counts[places[order]] = each
    starts = np.cumsum(each) - each
    pieces = np.repeat(frames.first[:-1][kept][order] - starts, each) + np.arange(int(each.sum()))
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    return TileExtents(first, files[pieces], frames.offsets[pieces], frames.sizes[pieces])


def _check_count(header: DicomHeader, total: int, tiles: int) -> None:
    """Raise SlideRejected unless that many frames fill the image once for each optical path and plane."""
    each = tiles * (len(header.paths) or 1)
    needed = each * max(header.focal_planes, 1)
    is_part = header.part is not None
    # Some writers say 1 of several planes; others say how many planes all files of the slide hold (wsidicom#190).
    if total == needed or (total and total % each == 0 and (header.focal_planes == 1 or not is_part)):
        return
    if is_part and total < needed:
        raise _missing(
            f"One picture of the slide lies in several DICOM files, and {needed - total:,} of its frames in none"
        )
    raise make_damaged_error(f"A DICOM file of the slide holds {total:,} frames where its size needs {needed:,}.")


def _missing(sentence: str) -> SlideRejected:
    return SlideRejected(RejectReason.MISSING_FILES, f"{sentence}: send all files of the series together.")


def _tile(header: DicomHeader) -> tuple[int, int]:
    return header.tile_width, header.tile_height


def _tiles(header: DicomHeader) -> int:
    return -(-header.width // header.tile_width) * -(-header.height // header.tile_height)
