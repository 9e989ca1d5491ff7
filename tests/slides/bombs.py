"""Tiles of a few KB that claim to be enormous: a decoder that believes them takes gigabytes."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final, Literal

import imagecodecs
import numpy as np
import tifffile

from tests.slides import GLASS, encode_tile, he_tissue, split_tables

TILE: Final = 240
SOF_SIDE: Final = 30_000  #: px that the JPEGs claim: 2.6 GB and 9.6 s in libjpeg
SIZ_SIDE: Final = 60_000  #: px that the JPEG 2000 code streams claim: 10 GB
_APERIO_J2K_RGB: Final = 33005


def write_bomb(path: Path, codec: Literal["jpeg", "jpeg2000"], *, spared: int = 0) -> Path:
    """An SVS of 4 x 4 tiles of 240 px that all claim to be larger, but for the first `spared`."""
    rng = np.random.default_rng(0)
    pixels = he_tissue(rng, TILE, TILE)
    pixels[: TILE // 2] = GLASS
    tables = b""
    if codec == "jpeg":
        tables, sound = split_tables(encode_tile(pixels, rgb=True))
        bomb = claim_in_sof(sound, SOF_SIDE)
    else:
        sound = bytes(imagecodecs.jpeg2k_encode(pixels, level=40, codecformat="j2k", mct=False))
        bomb = claim_in_siz(sound, SIZ_SIDE)
    with tifffile.TiffWriter(path) as writer:
        writer.write(
            (sound if tile < spared else bomb for tile in range(16)),
            shape=(4 * TILE, 4 * TILE, 3),
            dtype=np.uint8,
            tile=(TILE, TILE),
            photometric="rgb",
            compression=7 if codec == "jpeg" else _APERIO_J2K_RGB,
            description="Aperio Image Library v12.0.15\r\n960x960|AppMag = 20|MPP = 0.5",
            extratags=[(347, 7, len(tables), tables, True)] if tables else [],
            metadata=None,
            software=False,
        )
    return path


def claim_in_sof(jpeg: bytes, side: int) -> bytes:
    """The JPEG with `side` px in its frame header."""
    at = jpeg.index(b"\xff\xc0") + 5
    return jpeg[:at] + struct.pack(">HH", side, side) + jpeg[at + 4 :]


def claim_in_siz(code_stream: bytes, side: int) -> bytes:
    """The code stream with `side` px in its SIZ marker, for the picture and for its one tile."""
    at = code_stream.index(b"\xff\x51") + 6  # after the marker, its length and the capabilities
    corner = struct.pack(">IIIIIIII", side, side, 0, 0, side, side, 0, 0)
    return code_stream[:at] + corner + code_stream[at + len(corner) :]
