"""A pyramid whose every pixel says where it lies: any shift, and any level taken for another, reads as a wrong address.
Deflate keeps the colours exact."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import tifffile
from numpy.typing import NDArray

CELL: Final = 16  #: px of its own level that share one colour
SIDE: Final = 8_192  #: px of level 0
DOWNSAMPLES: Final = (1.0, 4.0, 16.13)  #: the last one maps few of its pixels to whole ones of level 0
_TILE: Final = 512


def level_side(level: int) -> int:
    return round(SIDE / DOWNSAMPLES[level])


def address(level: int, x: NDArray[np.intp], y: NDArray[np.intp]) -> NDArray[np.uint8]:
    """[len(y), len(x), 3] colours of the crossings of columns `x` and rows `y`, in px of the level: cell mod 256
    across and down, and in blue the level and what is over."""
    across, down = x // CELL, y // CELL
    colours = np.empty((len(y), len(x), 3), np.uint8)
    colours[..., 0] = across % 256
    colours[..., 1] = (down % 256)[:, None]
    colours[..., 2] = level * 16 + across // 256 * 4 + (down // 256)[:, None]
    return colours


def write_address_slide(path: Path) -> Path:
    """8,192 x 8,192 px with levels of 2,048 and 508; 0.5 um/px."""
    with tifffile.TiffWriter(path, bigtiff=True) as writer:
        for level in range(len(DOWNSAMPLES)):
            side = level_side(level)
            place = np.arange(side)
            density = 20_000 * side / SIDE  # px a centimetre
            writer.write(
                address(level, place, place),
                photometric="rgb",
                tile=(_TILE, _TILE),
                compression="zlib",
                compressionargs={"level": 1},
                subfiletype=int(level > 0),
                resolution=(density, density),
                resolutionunit="CENTIMETER",
                metadata=None,
                software=False,
            )
    return path
