"""A slide of 100,000 x 100,000 px in 2 MB: a BigTIFF whose directories point at 16 shared JPEGs. Only a writer of its
own shares tiles, so the few tags are packed here."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final, Literal

import imagecodecs
import numpy as np

from tests.slides import GLASS, encode_tile, he_tissue, split_tables

SIDE: Final = 100_000  #: px of level 0
TILE: Final = 256
_SHARED: Final = 16
_TYPES: Final = {"ascii": (2, "s"), "short": (3, "H"), "long": (4, "I"), "bytes": (7, "s"), "long8": (16, "Q")}


def write_giant(
    path: Path, *, levels: tuple[int, ...] = (1, 16, 64), codec: Literal["jpeg", "jpeg2000"] = "jpeg"
) -> Path:
    """An Aperio SVS, 0.25 um/px, whose level 0 has 152,881 tiles of 256 px. `levels` are downsamples; the first tile of
    the shared ones is glass."""
    rng = np.random.default_rng(0)
    pictures = [np.full((TILE, TILE, 3), GLASS, np.uint8), *(he_tissue(rng, TILE, TILE) for _ in range(_SHARED - 1))]
    tiles: list[bytes] = []
    tables = b""
    for picture in pictures:
        if codec == "jpeg":
            tables, tile = split_tables(encode_tile(picture, rgb=False, quality=60))
        else:
            tile = bytes(imagecodecs.jpeg2k_encode(picture, level=35, codecformat="j2k", mct=True))
        tiles.append(tile)
    data = bytearray(struct.pack("<2sHHHQ", b"II", 43, 8, 0, 0))
    places: list[int] = []
    for tile in tiles:
        places.append(len(data))
        data += tile
    link = 8
    for downsample in levels:
        across = SIDE // downsample
        count = (-(-across // TILE)) ** 2
        picks = rng.integers(_SHARED, size=count)
        description = f"Aperio Image Library v12.0.15\r\n{SIDE}x{SIDE} -> {across}x{across}|AppMag = 40|MPP = 0.25"
        fields = (
            (256, "long", [across]),
            (257, "long", [across]),
            (258, "short", [8, 8, 8]),
            (259, "short", [7 if codec == "jpeg" else 33005]),
            (262, "short", [6 if codec == "jpeg" else 2]),
            (270, "ascii", description.encode() + b"\0"),
            (277, "short", [3]),
            (284, "short", [1]),
            (322, "long", [TILE]),
            (323, "long", [TILE]),
            (324, "long8", np.array(places)[picks].tolist()),
            (325, "long", np.array([len(tile) for tile in tiles])[picks].tolist()),
            *([(347, "bytes", tables), (530, "short", [2, 2])] if codec == "jpeg" else []),
        )
        link = _write_directory(data, link, fields)
    path.write_bytes(data)
    return path


def _write_directory(data: bytearray, link: int, fields: tuple[tuple[int, str, list[int] | bytes], ...]) -> int:
    """Appends the directory and the values that do not fit into it; `link` is where its place is noted. The place of
    the next link."""
    entries: list[bytes] = []
    for tag, kind, values in fields:
        number, letter = _TYPES[kind]
        packed = values if isinstance(values, bytes) else struct.pack(f"<{len(values)}{letter}", *values)
        if len(packed) > 8:
            data += bytes(-len(data) % 8)
            data += packed
            packed = struct.pack("<Q", len(data) - len(packed))
        entries.append(struct.pack("<HHQ8s", tag, number, len(values), packed))
    data += bytes(-len(data) % 8)
    struct.pack_into("<Q", data, link, len(data))
    data += struct.pack("<Q", len(entries)) + b"".join(entries) + bytes(8)
    return len(data) - 8
