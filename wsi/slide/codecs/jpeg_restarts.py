"""Tiles cut out of one huge JPEG along its restart markers, as NDPI keeps its levels.

Each piece is a slice of one row of blocks with the restart marker before it and the one behind it (the first slice:
the JPEG's header before it; the last: the end-of-image marker). Both are checked: a list of starts that is off by a
few bytes makes tiles unreadable, never wrong. The slices of a tile, one below the other, are joined into a JPEG of the
tile's size. Whatever the JPEG says of its own size counts for nothing, since NDPI goes beyond the 65,535 px that it can
say; of its colours it has the last word, since the format says nothing of them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from wsi.errors import TileUnreadable
from wsi.slide.codecs.jpeg import decode_pieces, read_segments
from wsi.slide.coding import Coding, Reduction
from wsi.slide.slide import RGB

_SOI: Final = b"\xff\xd8"
_EOI: Final = b"\xff\xd9"
_RESTARTS: Final = tuple(bytes((0xFF, 0xD0 + number)) for number in range(8))
_FOLLOWING: Final = {marker: _RESTARTS[(number + 1) % 8] for number, marker in enumerate(_RESTARTS)}
_BASELINE: Final = frozenset({0xC0, 0xC1})
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_FRAME_SIZE: Final = 19  #: bytes of a frame header of three components
_DRI, _SOS = 0xDD, 0xDA
_ASTRAY: Final = "the list of restart markers does not point at them"


@dataclass(frozen=True, slots=True)
class JpegHeader:
    """The header of a JPEG of one pass and three components: everything before its scan."""

    data: bytes  #: from the start-of-image marker to the first byte of the scan
    frame: int  #: where the frame header begins
    width: int  #: px, as the JPEG says; 0 where it does not know
    height: int
    block_width: int  #: px of an MCU
    block_height: int
    restart_interval: int  #: MCUs from one restart marker to the next; 0 without markers

    def of_size(self, width: int, height: int) -> bytes:
        """Return the same header for an image of another size, each side at most 65,500 px."""
        size = height.to_bytes(2, "big") + width.to_bytes(2, "big")
        return self.data[: self.frame + 5] + size + self.data[self.frame + 9 :]


def read_header(data: bytes) -> JpegHeader:
    """Read the header of the JPEG at the start of `data`; more bytes may follow it. Raises TileUnreadable for an
    incomplete header, and for a JPEG that is not of one pass, three components and 8 bits."""
    frame, restart_interval = 0, 0
    for marker, start, end in read_segments(data):
        if marker in _FRAMES:
            if frame or marker not in _BASELINE or end - start != _FRAME_SIZE or data[start + 4] != 8:
                raise TileUnreadable("the JPEG is not one of a single pass, three components and 8 bits")
            frame = start
        elif marker == _DRI and end - start == 6:
            restart_interval = int.from_bytes(data[start + 4 : end], "big")
        elif marker == _SOS and frame:
            height, width = (int.from_bytes(data[frame + at : frame + at + 2], "big") for at in (5, 7))
            factors = [data[frame + at] for at in (11, 14, 17)]
            across, down = max(factor >> 4 for factor in factors), max(factor & 15 for factor in factors)
            if not (1 <= across <= 4 and 1 <= down <= 4):
                raise TileUnreadable("the JPEG's components have no size")
            return JpegHeader(data[:end], frame, width, height, 8 * across, 8 * down, restart_interval)
    raise TileUnreadable("the JPEG ends before its scan")


def decode_slices(pieces: Sequence[bytes], coding: Coding, width: int, height: int, reduction: Reduction) -> RGB:
    """Decode a tile as a `wsi.slide.decoding.Decoder` does. `coding.tables` is the header of the whole JPEG. A tile of
    the last band has fewer slices than the others: it is black below them, which is outside of the level."""
    rows = len(pieces) * _header(coding.tables).block_height
    if rows > height:
        raise TileUnreadable(f"has {len(pieces)} slices, too many for {height} px")
    jpeg = join_tile(pieces, coding, width)
    pixels = decode_pieces((jpeg,), replace(coding, tables=b""), width, rows, reduction)
    missing = -(-height // reduction) - len(pixels)
    return pixels if not missing else np.concatenate((pixels, np.zeros((missing, *pixels.shape[1:]), np.uint8)))


def join_tile(pieces: Sequence[bytes], coding: Coding, width: int) -> bytes:
    """Join the slices of a tile with the JPEG header of the level's `coding`. Raises TileUnreadable."""
    return join_slices(pieces, _header(coding.tables), width)


def join_slices(pieces: Sequence[bytes], header: JpegHeader, width: int) -> bytes:
    """Join slices to a JPEG of `width` px and as many rows of blocks as there are `pieces`. Raises TileUnreadable."""
    parts: list[bytes] = []
    for number, piece in enumerate(pieces):
        parts += (_scan(piece, header), _RESTARTS[number % 8])
    parts[-1] = _EOI
    scan = b"".join(parts)
    values = np.frombuffer(scan, np.uint8)
    # Inside a slice FF is always followed by a stuffed 00: any other marker is one that was not cut at.
    if np.count_nonzero(values[np.flatnonzero(values[:-1] == 0xFF) + 1]) != len(pieces):
        raise TileUnreadable(_ASTRAY)
    return header.of_size(width, len(pieces) * header.block_height) + scan


def _scan(piece: bytes, header: JpegHeader) -> bytes:
    """Return the coded blocks of a slice, without the markers around them."""
    before, behind = piece[:2], piece[-2:]
    if before in _FOLLOWING and behind in (_FOLLOWING[before], _EOI):
        return piece[2:-2]
    if behind in (_RESTARTS[0], _EOI) and piece.startswith(header.data):
        return piece[len(header.data) : -2]
    raise TileUnreadable(_ASTRAY)


_header = functools.lru_cache(maxsize=64)(read_header)  # Parsed once a level, not once a tile.
