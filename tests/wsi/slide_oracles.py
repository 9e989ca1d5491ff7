"""What other readers say the pixels of a slide are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import tifffile
from numpy.typing import NDArray
from openslide import OpenSlide

from wsi.records.slides import LevelInfo
from wsi.slide.slide import RGB

#: (level, its shape, x, y, side) -> [side, side, 3]; None where the oracle can not tell that box exactly
Region = Callable[[int, LevelInfo, int, int, int], RGB | None]
LARGEST: Final = 16_000_000  #: px of a level that is read whole
WHITE: Final = 255


@contextmanager
def openslide_regions(path: Path) -> Iterator[Region]:
    with OpenSlide(path) as slide:
        whole: dict[int, RGB] = {}

        def region(level: int, info: LevelInfo, x: int, y: int, side: int) -> RGB | None:
            own = slide.level_dimensions.index((info.width, info.height))  # of the same level, if we pass one over
            corner = (x * info.downsample, y * info.downsample)
            if all(place == int(place) for place in corner):
                return _on_white(np.asarray(slide.read_region((int(corner[0]), int(corner[1])), own, (side, side))))
            # OpenSlide resamples at corners that are not whole pixels of level 0; the level's own corner always is.
            if info.width * info.height > LARGEST:
                return None
            if level not in whole:
                size = (info.width, info.height)
                whole[level] = _on_white(np.asarray(slide.read_region((0, 0), own, size)))
            return _crop(whole[level], x, y, side)

        yield region


@contextmanager
def tifffile_regions(path: Path) -> Iterator[Region]:
    with tifffile.TiffFile(path) as file:
        levels = file.series[0].levels
        whole: dict[int, RGB] = {}

        def region(level: int, info: LevelInfo, x: int, y: int, side: int) -> RGB | None:
            if level not in whole:
                whole[level] = _three(levels[level].asarray(), levels[level].axes)
            assert whole[level].shape[:2] == (info.height, info.width), "levels differ"
            return _crop(whole[level], x, y, side)

        yield region


ORACLES: Final = {"openslide": openslide_regions, "tifffile": tifffile_regions}


def _three(pixels: NDArray[np.uint8], axes: str) -> RGB:
    """[height, width, 3] of the first picture in `pixels`."""
    while axes not in ("YX", "YXS", "SYX", "CYX"):
        pixels, axes = pixels[0], axes[1:]
    if axes in ("SYX", "CYX"):
        pixels = np.moveaxis(pixels, 0, -1)
    return np.repeat(pixels[..., None], 3, axis=2) if pixels.ndim == 2 else pixels[..., :3]


def _on_white(pixels: NDArray[np.uint8]) -> RGB:
    colour, alpha = pixels[..., :3], pixels[..., 3:].astype(np.float32) / WHITE
    return (colour * alpha + WHITE * (1 - alpha)).round().astype(np.uint8)


def _crop(pixels: RGB, x: int, y: int, side: int) -> RGB:
    """Of a whole level; white past its edges."""
    found = np.full((side, side, 3), WHITE, np.uint8)
    inside = pixels[max(y, 0) : max(y + side, 0), max(x, 0) : max(x + side, 0)]
    top, left = max(-y, 0), max(-x, 0)
    found[top : top + inside.shape[0], left : left + inside.shape[1]] = inside
    return found
