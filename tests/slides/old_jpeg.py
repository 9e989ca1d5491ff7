"""A tiled TIFF of old JPEG (TIFF 6.0, section 22), which no library writes any more: bare scans, and tables that lie
apart."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from wsi.slide.codecs.jpeg import read_segments

TILE: Final = 64  #: px
_SHORT, _LONG, _RATIONAL = 3, 4, 5
_STEPS: Final = {"444": (1, 1), "422": (2, 1), "420": (2, 2)}


def write_old_jpeg(
    path: Path,
    pixels: NDArray[np.uint8],
    *,
    sampling: Literal["444", "422", "420"] = "420",
    reference: Sequence[int] | None = None,
    without: int | None = None,
    **tags: Any,
) -> Path:
    """`reference` is black and white of Y, Cb and Cr; `without` is a tag that is left out, `tags` (by "t" and number)
    are (type, values) of others."""
    height, width = pixels.shape[:2]
    across, down = -(-width // TILE), -(-height // TILE)
    padded = np.pad(pixels, ((0, down * TILE - height), (0, across * TILE - width), (0, 0)), mode="edge")
    options: dict[str, Any] = {"outcolorspace": "YCBCR", "colorspace": "RGB", "subsampling": sampling}
    data = bytearray(b"II*\0\0\0\0\0")
    places: list[int] = []
    sizes: list[int] = []
    tables: dict[int, bytes] = {}
    for row in range(down):
        for column in range(across):
            tile = padded[row * TILE : (row + 1) * TILE, column * TILE : (column + 1) * TILE]
            whole = bytes(imagecodecs.jpeg8_encode(np.ascontiguousarray(tile), level=80, **options))
            parts = list(read_segments(whole))
            tables |= {at: whole[start:end] for at, (_, start, end) in enumerate(parts)}
            scan = whole[parts[-1][2] : -2]
            places.append(len(data))
            sizes.append(len(scan))
            data += scan
    quants = [each[5:] for each in tables.values() if each[1] == 0xDB]
    codes = {each[4]: each[5:] for each in tables.values() if each[1] == 0xC4}
    lists: list[list[int]] = []
    for luma, chroma in ((quants[0], quants[1]), (codes[0x00], codes[0x01]), (codes[0x10], codes[0x11])):
        first = len(data)
        data += luma + chroma
        lists.append([first, first + len(luma), first + len(luma)])
    fields: dict[int, tuple[int, Sequence[int]]] = {
        256: (_LONG, [width]),
        257: (_LONG, [height]),
        258: (_SHORT, [8, 8, 8]),
        259: (_SHORT, [6]),
        262: (_SHORT, [6]),
        277: (_SHORT, [3]),
        284: (_SHORT, [1]),
        322: (_LONG, [TILE]),
        323: (_LONG, [TILE]),
        324: (_LONG, places),
        325: (_LONG, sizes),
        512: (_SHORT, [1]),
        519: (_LONG, lists[0]),
        520: (_LONG, lists[1]),
        521: (_LONG, lists[2]),
        530: (_SHORT, _STEPS[sampling]),
    }
    if reference is not None:
        fields[532] = (_RATIONAL, [number for value in reference for number in (value, 1)])
    fields |= {int(name[1:]): field for name, field in tags.items()}
    fields.pop(without or 0, None)
    _write_directory(data, fields)
    path.write_bytes(data)
    return path


def _write_directory(data: bytearray, fields: dict[int, tuple[int, Sequence[int]]]) -> None:
    entries: list[bytes] = []
    for tag, (kind, values) in sorted(fields.items()):
        packed = struct.pack(f"<{len(values)}{'H' if kind == _SHORT else 'I'}", *values)
        if len(packed) > 4:
            data += bytes(len(data) % 2)
            place, packed = len(data), packed
            data += packed
            packed = struct.pack("<I", place)
        count = len(values) // 2 if kind == _RATIONAL else len(values)
        entries.append(struct.pack("<HHI", tag, kind, count) + packed.ljust(4, b"\0"))
    data += bytes(len(data) % 2)
    struct.pack_into("<I", data, 4, len(data))
    data += struct.pack("<H", len(entries)) + b"".join(entries) + bytes(4)
