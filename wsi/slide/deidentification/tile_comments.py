"""Comments in tiles: a JPEG can hold text, EXIF and data of programs, and so can a JPEG 2000 code stream.

Programs write the same into each tile, or into none. So tiles of a large slide are sampled, and all tiles are read
if one of the sample says something. Of up to `READ_WHOLE` bytes, all tiles are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import TileUnreadable
from wsi.slide.coding import Codec
from wsi.slide.deidentification.jpeg_comments import locate_behind, locate_comments
from wsi.slide.ranges import ByteRange, Data, RangeSource

READ_WHOLE: Final = 256 * 1024**2  #: bytes
_SAMPLE: Final = 64  #: tiles
_ITEM_HEAD: Final = 8  #: bytes of tag and length
_AT_ONCE: Final = 64  #: tiles that are read together
#: Of JPEG 2000: start, comment, first tile part (T.800, table A.2); the programs that encode tiles name themselves.
_J2K_START, _J2K_COMMENT, _J2K_TILE = b"\xff\x4f", 0x64, 0x90
_PROGRAMS: Final = re.compile(
    rb"Kakadu-v?[0-9.]{1,8}|Created by OpenJPEG version [0-9.]{1,10}"
    rb"|Kdu-Layer-Info: log_2\{Delta-D\(MSE\)/\[2\^16\*Delta-L\(bytes\)\]\}, L\(bytes\)\n([-+ .0-9e,]{1,32}\n){1,64}"
)


def locate_tile_comments(
    source: RangeSource, codec: Codec, starts: NDArray[np.int64], ends: NDArray[np.int64], *, in_items: bool = False
) -> list[ByteRange]:
    """Return the places of what tiles say beside their pixels and is not blank. `in_items`: each is one or
    more DICOM items with their heads. Tiles that no decoder reads are left alone. Raises SourceError."""
    if codec not in (Codec.JPEG, Codec.JPEG_2000) or not len(starts):
        return []
    if int((ends - starts).sum()) > READ_WHOLE:
        sample = np.linspace(0, len(starts) - 1, min(_SAMPLE, len(starts)), dtype=np.int64)
        if not any(True for _ in _locate(source, codec, starts[sample], ends[sample], in_items=in_items)):
            return []
    return list(dict.fromkeys(_locate(source, codec, starts, ends, in_items=in_items)))


def _locate(
    source: RangeSource, codec: Codec, starts: NDArray[np.int64], ends: NDArray[np.int64], *, in_items: bool
) -> Iterator[ByteRange]:
    for at in range(0, len(starts), _AT_ONCE):
        pairs = zip(starts[at : at + _AT_ONCE].tolist(), ends[at : at + _AT_ONCE].tolist(), strict=True)
        ranges = [ByteRange(start, end) for start, end in pairs]
        for place, data in zip(ranges, source.read_many(ranges), strict=True):
            parts = _cut_items(data) if in_items else [(0, len(data))]
            tile = b"".join(bytes(data[start:end]) for start, end in parts)
            for found in locate_in_tile(tile, codec):
                for start, end in _place(found, parts):
                    yield ByteRange(place.start + start, place.start + end)


def _cut_items(data: Data) -> list[tuple[int, int]]:
    """Return (start, end) of the content of each DICOM item in a frame."""
    at, parts = 0, list[tuple[int, int]]()
    while at + _ITEM_HEAD <= len(data):
        start = at + _ITEM_HEAD
        at = start + int.from_bytes(data[at + 4 : start], "little")
        parts.append((start, min(at, len(data))))
    return parts


def _place(found: tuple[int, int], parts: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield where a run of a tile is in its parts."""
    before = 0  # bytes of the tile in the parts before
    for start, end in parts:
        first, last = max(found[0], before), min(found[1], before + end - start)
        if first < last:
            yield start + first - before, start + last - before
        before += end - start


def locate_in_tile(data: bytes, codec: Codec) -> Sequence[tuple[int, int]]:
    """Return (start, end) of each comment of one tile that is not blank, and of what is behind its end."""
    try:
        found = list(locate_comments(data)) + locate_behind(data) if codec is Codec.JPEG else list(_locate_j2k(data))
    except TileUnreadable:
        return ()
    return [(start, end) for start, end in found if data[start:end].strip(b"\0")]


def _locate_j2k(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the comments in the main header of a code stream. A program's own name is none."""
    at = 2 if data.startswith(_J2K_START) else len(data)
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] != _J2K_TILE:
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if (
            data[at + 1] == _J2K_COMMENT
            and end <= len(data)
            and not _PROGRAMS.fullmatch(data[at + 6 : end].rstrip(b"\0"))
        ):
            yield at + 6, end
        at = max(end, at + 4)
