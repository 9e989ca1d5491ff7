"""De-identification of a MIRAX slide: its cover becomes a blank image, its list and its index are written anew, and of
its data files only the tiles of the zoom levels and the positions of the photos stay."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Removed
from wsi.slide.coding import Codec
from wsi.slide.deidentification.clean_slide import CleanFile, CleanSlide
from wsi.slide.deidentification.edits import CleanSource, Edit, EditedSource
from wsi.slide.deidentification.mirax.index_file import IndexFile, Record, build_index, parse_index
from wsi.slide.deidentification.mirax.slidedat import Slidedat, build_slidedat, name_data_file, parse_slidedat
from wsi.slide.deidentification.overwrites import (
    Overwrite,
    OverwrittenSource,
    compute_gaps,
    merge_ranges,
    sort_overwrites,
)
from wsi.slide.deidentification.refusing import make_deidentification_error
from wsi.slide.deidentification.tile_comments import locate_tile_comments
from wsi.slide.files.choosing import FoundSlide
from wsi.slide.files.parts import read_list
from wsi.slide.files.source import SlideSource
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.tiff import make_damaged_error

_FOLDER: Final = "00000"
_MOST_INDEX: Final = 512 * 1024**2  #: bytes of Index.dat; 16 for each tile
_POSITION: Final = 9  #: bytes of a photo's position: a flag, across, down
_FARTHEST: Final = 2**28  #: px; four letters as a number are more
_PACKED: Final = "StitchingIntensityLayer"
#: A grey image of one pixel: readers do not open the cover.
_COVER: Final = bytes.fromhex(
    "ffd8ffe000104a46494600010100000100010000ffdb004300100b0c0e0c0a100e0d0e1211101318281a181616183123251d"
    "283a333d3c3933383740485c4e404457453738506d51575f626768673e4d71797064785c656763ffc0000b08000100010101"
    "1100ffc40014000100000000000000000000000000000007ffc40014100100000000000000000000000000000000ffda0008"
    "010100003f00407fffd9"
)


def clean_mirax(found: FoundSlide) -> CleanSlide:
    """Return the slide without what identifies somebody. Raises SlideRejected: CAN_NOT_DEIDENTIFY for tiles that are no
    JPEG, MISSING_FILES, DAMAGED; SourceError."""
    cover = PurePosixPath(found.files[found.opened][0])
    folder = cover.with_suffix("")
    numbers = {name: number for number, (name, _) in enumerate(found.files)}
    contents = read_list(SlideSource(files=tuple(found.files)), str(folder / "Slidedat.ini"))
    if contents is None:
        raise make_damaged_error("The list of the slide's layers (Slidedat.ini) is damaged.")
    listed = parse_slidedat(contents)
    _check_formats(listed)
    needed = [str(folder / name) for name in ("Slidedat.ini", listed.index, *listed.files)]
    if not set(needed) <= numbers.keys():
        raise SlideRejected(
            RejectReason.MISSING_FILES, "Some of the slide's files did not come: send the .mrxs file with its folder."
        )
    if len(set(needed)) < len(needed):
        raise make_deidentification_error("The slide's list names one file twice")
    sources = [found.files[numbers[name]][1] for name in needed]
    index = _read_index(sources[1], listed)
    names = ["Slidedat.ini", "Index.dat", *(name_data_file(file) for file in range(len(listed.files)))]
    clean: list[CleanSource] = [_write(sources[0], build_slidedat(listed))]
    positions, data = _clean_data(sources[2:], listed, index)
    clean += [_write(sources[1], build_index(index.tiles, positions)), *data]
    files = [CleanFile(found.opened, f"{_FOLDER}.mrxs", _write(found.files[found.opened][1], _COVER))]
    files += [
        CleanFile(numbers[path], f"{_FOLDER}/{name}", source)
        for path, name, source in zip(needed, names, clean, strict=True)
    ]
    removed = Removed(images=1 + listed.pictures, tags=listed.keys, files=len(found.files) - len(files))
    return CleanSlide(tuple(files), removed)


def _check_formats(listed: Slidedat) -> None:
    if set(listed.formats) != {"JPEG"}:
        raise make_deidentification_error("The slide's tiles are no JPEG, and are not searched for texts")


def _write(source: RangeSource, data: bytes) -> CleanSource:
    """Return a file that is written anew as a whole."""
    return EditedSource(source, [Edit(ByteRange(0, source.size), data)])


def _read_index(source: RangeSource, listed: Slidedat) -> IndexFile:
    if source.size > _MOST_INDEX:
        raise make_deidentification_error("The slide's index is larger than that of any slide")
    data = source.read(ByteRange(0, source.size))
    return parse_index(data, listed.slide_id, len(listed.levels), listed.records)


def _clean_data(
    sources: Sequence[RangeSource], listed: Slidedat, index: IndexFile
) -> tuple[Record | None, list[CleanSource]]:
    """Return the record of positions that stays, and the data files with zeros over all that does not."""
    tiles = np.concatenate(index.tiles).astype(np.int64)
    _check_tiles(tiles, sources, listed)
    number = None if listed.positions is None else listed.positions[1]
    positions = None if number is None else _check_positions(index.records[number], sources, listed)
    clean = list[CleanSource]()
    for file, source in enumerate(sources):
        mine = tiles[tiles[:, 3] == file]
        starts, ends = mine[:, 1], mine[:, 1] + mine[:, 2]
        for other, record in enumerate(index.records):
            if record is None or record.file != file or other == number:
                continue
            if np.any((starts < record.place.end) & (ends > record.place.start)):
                raise make_deidentification_error("What goes from the slide shares its bytes with what stays")
        comments = locate_tile_comments(source, Codec.JPEG, starts, ends)
        if positions is not None and positions.file == file:
            starts, ends = np.append(starts, positions.place.start), np.append(ends, positions.place.end)
        clean.append(_blank(source, starts, ends, comments))
    return positions, clean


def _blank(
    source: RangeSource, starts: NDArray[np.int64], ends: NDArray[np.int64], comments: Sequence[ByteRange]
) -> CleanSource:
    if not len(starts):
        return OverwrittenSource(source, [Overwrite(ByteRange(0, source.size))] if source.size else [])
    gaps = compute_gaps(*merge_ranges(starts, ends), source.size)
    try:
        return OverwrittenSource(source, sort_overwrites([*map(Overwrite, gaps), *map(Overwrite, comments)]))
    except ValueError:
        raise make_deidentification_error("Two tiles of the slide share their bytes in part") from None


def _check_tiles(tiles: NDArray[np.int64], sources: Sequence[RangeSource], listed: Slidedat) -> None:
    """Raise SlideRejected for tiles that no reader could read, as these could claim anything."""
    sizes = np.array([source.size for source in sources], np.int64)
    across, down = listed.get_count("IMAGENUMBER_X"), listed.get_count("IMAGENUMBER_Y")
    largest = tiles.max(axis=0, initial=0)
    if tiles.min(initial=0) < 0 or largest[3] >= len(sizes) or largest[0] >= across * down:
        raise make_damaged_error("The slide's index (Index.dat) lists tiles that it cannot have.")
    if np.any(tiles[:, 1] + tiles[:, 2] > sizes[tiles[:, 3]]):
        raise SlideRejected(RejectReason.TRUNCATED, "A data file of the slide ends before its tiles: copy it again.")
    most = max(
        12 * int(level.get("DIGITIZER_WIDTH", "0")) * int(level.get("DIGITIZER_HEIGHT", "0")) for level in listed.levels
    )
    if largest[2] > most + 65_536:
        raise make_damaged_error("The slide's index (Index.dat) lists tiles of more bytes than they can have.")


def _check_positions(record: Record | None, sources: Sequence[RangeSource], listed: Slidedat) -> Record:
    """Return the record without what is behind the positions. Raises SlideRejected for one that is no positions."""
    damaged = make_damaged_error("The positions of the slide's photos are damaged.")
    if record is None or record.file >= len(sources) or record.place.end > sources[record.file].size:
        raise damaged
    divisions = listed.get_count("CameraImageDivisionsPerSide")
    count = (listed.get_count("IMAGENUMBER_X") // divisions) * (listed.get_count("IMAGENUMBER_Y") // divisions)
    if record.place.size > _MOST_INDEX:
        raise damaged
    data, end = sources[record.file].read(record.place), record.place.end
    if listed.positions is not None and listed.positions[0] == _PACKED:
        unpacker = zlib.decompressobj()
        try:
            data = unpacker.decompress(data, _POSITION * count + 1)
        except zlib.error:
            raise damaged from None
        end -= len(unpacker.unused_data)
    if len(data) != _POSITION * count:
        raise damaged
    rows = np.frombuffer(data, np.dtype([("flag", "u1"), ("across", "<i4"), ("down", "<i4")]))
    farthest = max(np.abs(rows[name].astype(np.int64)).max(initial=0) for name in ("across", "down"))
    if rows["flag"].max(initial=0) > 1 or farthest > _FARTHEST:
        raise damaged
    return Record(record.file, ByteRange(record.place.start, end))
