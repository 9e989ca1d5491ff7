"""Index.dat, which says where the tiles of a MIRAX slide are in its data files: read, and written anew with tiles and
positions alone. Little endian. Source: openslide.org/formats/mirax and OpenSlide's reading of the pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import SlideRejected
from wsi.slide.deidentification.mirax.slidedat import ANONYMOUS_ID
from wsi.slide.ranges import ByteRange
from wsi.slide.tiff import make_damaged_error

_VERSION: Final = b"01.02"
_MOST_PAGES: Final = 1_000_000  #: of a level
_WORD: Final = 4
_ENTRY: Final = 16  #: bytes: number of the tile, offset, length, file


@dataclass(frozen=True, slots=True)
class Record:
    """A record beside the levels: its bytes in a data file."""

    file: int
    place: ByteRange


@dataclass(frozen=True, slots=True)
class IndexFile:
    tiles: tuple[NDArray[np.int32], ...]  #: [tiles, 4] of each level: number, offset, length, file
    records: tuple[Record | None, ...]  #: None for one that is not in the file


@dataclass(frozen=True, slots=True)
class _Words:
    data: bytes

    def read(self, at: int) -> int:
        if not 0 <= at <= len(self.data) - _WORD:
            raise make_damaged_error("The slide's index (Index.dat) points past its end.")
        return int.from_bytes(self.data[at : at + _WORD], "little", signed=True)


def parse_index(data: bytes, slide_id: str, levels: int, records: int) -> IndexFile:
    """Return the index of a slide with so many zoom levels, and records beside them. Raises SlideRejected DAMAGED."""
    head = _VERSION + slide_id.encode()
    if not data.startswith(head):
        raise make_damaged_error("The slide's index (Index.dat) is of another slide or version.")
    words = _Words(data)
    tables = words.read(len(head)), words.read(len(head) + _WORD)
    tiles = tuple(_read_level(words, words.read(tables[0] + _WORD * level)) for level in range(levels))
    return IndexFile(tiles, tuple(_read_record(words, tables[1] + _WORD * record) for record in range(records)))


def _read_level(words: _Words, at: int) -> NDArray[np.int32]:
    if words.read(at) != 0:
        raise make_damaged_error("A level of the slide's index (Index.dat) is damaged.")
    page, found = words.read(at + _WORD), list[NDArray[np.int32]]()
    for _ in range(_MOST_PAGES):
        count, following = words.read(page), words.read(page + _WORD)
        end = page + 2 * _WORD + _ENTRY * count
        if count < 0 or end > len(words.data):
            break
        found.append(np.frombuffer(words.data[page + 2 * _WORD : end], "<i4").reshape(-1, 4))
        page = end  # the next page is behind this one
        if not following:
            return np.concatenate(found)
    raise make_damaged_error("A level of the slide's index (Index.dat) is damaged.")


def _read_record(words: _Words, at: int) -> Record | None:
    """Return a record of one part; None for one that is empty or not written as such."""
    try:
        page = words.read(words.read(at) + _WORD)
        if words.read(page) < 1:
            return None
        start, size, file = (words.read(page + _WORD * number) for number in (4, 5, 6))
    except SlideRejected:
        return None
    return Record(file, ByteRange(start, start + size)) if min(start, size, file) >= 0 else None


def build_index(tiles: Sequence[NDArray[np.int32]], positions: Record | None) -> bytes:
    """Return an index with one page for each level, and one record of positions."""
    head = _VERSION + ANONYMOUS_ID.encode()
    roots = len(head) + 2 * _WORD
    heads = roots + _WORD * (len(tiles) + 1)  # behind the two tables: those of levels, and of one record
    pages = heads + 2 * _WORD * (len(tiles) + 1)
    tables, starts, body = list[int](), list[int](), b""
    for number, level in enumerate(tiles):
        tables.append(heads + 2 * _WORD * number)
        starts += [0, pages + len(body)]
        body += _encode(len(level), 0) + level.astype("<i4").tobytes()
    tables.append(heads + 2 * _WORD * len(tiles))
    starts += [0, pages + len(body)]
    if positions is not None:
        place = positions.place
        body += _encode(1, 0, 0, 0, place.start, place.size, positions.file)
    return head + _encode(roots, roots + _WORD * len(tiles)) + _encode(*tables) + _encode(*starts) + body


def _encode(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(_WORD, "little", signed=True) for number in numbers)
