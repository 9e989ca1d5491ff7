"""A slide of 100,000 x 100,000 px in 2 MB: a BigTIFF whose directories point at 16 shared JPEGs. Only a writer of our
own shares tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import imagecodecs
import numpy as np

from tests.bigtiff import FIRST_LINK, HEAD, write_directory
from tests.slides import encode_tile
from tests.tissue import GLASS, he_tissue, split_tables

SIDE: Final = 100_000  #: px of level 0
TILE: Final = 256
_SHARED: Final = 16
_SIZES: Final = 10_000  #: different sizes that tiles of one JPEG claim, so that a reader takes them for different


def write_giant(
    path: Path,
    *,
    levels: tuple[int, ...] = (1, 16, 64),
    codec: Literal["jpeg", "jpeg2000"] = "jpeg",
    side: int = SIDE,
    distinct: bool = False,
    in_order: bool = False,
) -> Path:
    """An Aperio SVS, 0.25 um/px, whose level 0 has 152,881 tiles of 256 px. `levels` are downsamples; the first tile of
    the shared ones is glass. Tiles that are `distinct` end with bytes that decoders do not read, each with as many of
    its own, so that each is decoded. Tiles `in_order` have bytes of their own, one after the other as scanners write
    them."""
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
    data = bytearray(HEAD)
    places: list[int] = []
    for tile in tiles:
        places.append(len(data))
        data += tile
    data += bytes(_SIZES)
    link = FIRST_LINK
    for downsample in levels:
        across = side // downsample
        count = (-(-across // TILE)) ** 2
        picks = rng.integers(_SHARED, size=count)
        sizes = np.array([len(tile) for tile in tiles])[picks] + (np.arange(count) % _SIZES if distinct else 0)
        offsets = np.array(places)[picks]
        if in_order:
            sizes = np.array([len(tile) for tile in tiles])[picks]
            offsets = len(data) + np.cumsum(sizes) - sizes
            data += b"".join(tiles[pick] for pick in picks)
        description = f"Aperio Image Library v12.0.15\r\n{side}x{side} -> {across}x{across}|AppMag = 40|MPP = 0.25"
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
            (324, "long8", offsets.tolist()),
            (325, "long", sizes.tolist()),
            *([(347, "bytes", tables), (530, "short", [2, 2])] if codec == "jpeg" else []),
        )
        link = write_directory(data, link, fields)
    path.write_bytes(data)
    return path
