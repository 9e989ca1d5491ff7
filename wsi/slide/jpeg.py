"""JPEG tiles as TIFF keeps them: made whole, given the container's colours, checked, decoded.

The marker rule: the container's photometric interpretation decides the colours, whatever the JPEG says. Aperio writes
RGB tiles whose components are numbered 0, 1, 2 without any marker, which every JPEG library takes for YCbCr (wrong by
up to 254 levels); some converters put Adobe's "RGB" marker into YCbCr tiles. So APP0 (JFIF) and APP14 (Adobe) are
dropped wherever they are, and one APP14 that says what the container says is put in. Measured exact against OpenSlide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import simplejpeg  # pyright: ignore[reportMissingTypeStubs]

from wsi.errors import TileUnreadable
from wsi.slide.coding import Coding, Colour, Reduction
from wsi.slide.reducing import reduced
from wsi.slide.slide import RGB

# APP14: length 14, "Adobe", version 100, two flag words, colour transform (0 none, 1 YCbCr). Adobe Technical Note 5116.
_ADOBE: Final = {
    Colour.RGB: bytes.fromhex("ffee000e41646f626500640000000000"),
    Colour.YCBCR: bytes.fromhex("ffee000e41646f626500640000000001"),
}
_SOI: Final = b"\xff\xd8"
_APP0, _APP14, _SOS, _EOI = 0xE0, 0xEE, 0xDA, 0xD9
_TABLES: Final = frozenset({0xDB, 0xC4, 0xCC, 0xDD})  #: DQT, DHT, DAC, DRI
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  #: SOF0 to SOF15
_BARE: Final = frozenset({0x01, *range(0xD0, 0xD8)})  #: TEM and RSTn have no length


def segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """(marker, start, end) of each segment from SOI up to and with the first SOS, or up to EOI. Raises
    TileUnreadable."""
    if data[:2] != _SOI:
        raise TileUnreadable("not a JPEG: no start-of-image marker")
    at = 2
    while True:
        if at + 2 > len(data):
            raise TileUnreadable("the JPEG ends inside its header")
        if data[at] != 0xFF:
            raise TileUnreadable("the JPEG's header holds bytes that belong to no segment")
        marker = data[at + 1]
        if marker == 0xFF:  # A fill byte (T.81, B.1.1.2).
            at += 1
            continue
        if marker == _EOI:
            return
        if marker in _BARE:
            at += 2
            continue
        size = int.from_bytes(data[at + 2 : at + 4], "big")
        end = at + 2 + size
        if size < 2 or end > len(data):
            raise TileUnreadable("the JPEG ends inside its header")
        yield marker, at, end
        if marker == _SOS:
            return
        at = end


def shared_tables(tables: bytes) -> bytes:
    """What a JPEGTables tag adds to each tile: its tables, and nothing else. Raises TileUnreadable."""
    return b"".join(tables[start:end] for marker, start, end in segments(tables) if marker in _TABLES)


def complete(tile: bytes, *, tables: bytes, colour: Colour, width: int, height: int) -> bytes:
    """A whole three-component JPEG of `width` x `height` px that says what the container says of its colours.

    `tables` comes from `shared_tables`. Raises TileUnreadable, before anything is decoded, unless the tile holds one
    frame of exactly that size: a 64-px tile that claims 30,000 px a side costs libjpeg 2.6 GB.
    """
    kept: list[bytes] = []
    frames = 0
    for marker, start, end in segments(tile):
        if marker in _FRAMES:
            frames += 1
            _check_frame(tile[start:end], width, height)
        if marker == _SOS:
            if frames != 1:
                raise TileUnreadable(f"the JPEG holds {frames} frame headers before its first scan")
            return b"".join((_SOI, _ADOBE[colour], tables, *kept, tile[start:]))
        if marker not in (_APP0, _APP14):
            kept.append(tile[start:end])
    raise TileUnreadable("the JPEG ends before its first scan")


def decode_pieces(pieces: Sequence[bytes], coding: Coding, width: int, height: int, reduction: Reduction) -> RGB:
    """A `wsi.slide.decoding.Decoder`."""
    whole = complete(b"".join(pieces), tables=coding.tables, colour=coding.colour, width=width, height=height)
    return reduced(decode(whole), reduction)


def decode(jpeg: bytes) -> RGB:
    """[height, width, 3]. libjpeg's warnings count as errors: what it would paint is not the slide. Raises
    TileUnreadable."""
    try:
        return simplejpeg.decode_jpeg(jpeg, colorspace="RGB", strict=True)
    except ValueError as error:
        raise TileUnreadable(str(error)) from error


def _check_frame(frame: bytes, width: int, height: int) -> None:
    if len(frame) < 10:
        raise TileUnreadable("the JPEG ends inside its header")
    said_height, said_width, components = int.from_bytes(frame[5:7], "big"), int.from_bytes(frame[7:9], "big"), frame[9]
    if frame[4] != 8 or components != 3:
        raise TileUnreadable(f"the JPEG has {components} components of {frame[4]} bits, not 3 of 8")
    if (said_width, said_height) != (width, height):
        raise TileUnreadable(f"the JPEG claims {said_width} x {said_height} px in a tile of {width} x {height}")
