"""Sixty tiles of a real pyramid, each with one bit turned over, as a bad disk or a bad line leaves them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import tifffile

FLIPS: Final = 60
_JPEG_TABLES: Final = 347


@dataclass(frozen=True, slots=True)
class Flip:
    tile: int  #: of level 0, row-major
    jpeg: bytes  #: the whole JPEG with its turned bit: shared tables and the tile


def write_flips(original: Path, path: Path, *, seed: int = 4) -> tuple[Flip, ...]:
    """Copies a generic pyramid of JPEG tiles, and turns one bit of each of sixty level-0 tiles."""
    data = bytearray(original.read_bytes())
    with tifffile.TiffFile(original) as file:
        page = file.pages.first
        tables = bytes(page.tags[_JPEG_TABLES].value)
        offsets, sizes = page.dataoffsets, page.databytecounts
    rng = np.random.default_rng(seed)
    tiles = sorted(int(tile) for tile in rng.choice(len(offsets), FLIPS, replace=False))
    flips: list[Flip] = []
    for tile in tiles:
        start, size = offsets[tile], sizes[tile]
        bit = int(rng.integers(8 * size))
        data[start + bit // 8] ^= 1 << bit % 8
        flips.append(Flip(tile, tables[:-2] + bytes(data[start + 2 : start + size])))
    path.write_bytes(data)
    return tuple(flips)
