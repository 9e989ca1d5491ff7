"""Pixels of any rectangle of a slide, at level 0 or at a stated scale."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from PIL import Image

from wsi.cores import count_available_cores
from wsi.errors import TileUnreadable
from wsi.planning.scale import choose_level, compute_downsamples, compute_grid_mpp, compute_level_mpp
from wsi.slide.slide import RGB, WHITE, EncodedTile, SlideReader
from wsi.viewer.deep_zoom import Box, iterate_file_tiles
from wsi.viewer.view_tiles import copy_part

#: px of a level that are in memory at a time while they are shrunk; a region of more is made in bands.
BAND_PIXELS: Final = 4096 * 4096
#: Parts of a level's px that a corner lies at: the last bits of a downsample decide nothing.
_PARTS: Final = 1024


def read_region(reader: SlideReader, corner: tuple[int, int], size: tuple[int, int], mpp: float | None = None) -> RGB:
    """Return `size` (width, height) px, [height, width, 3], whose upper left corner is `corner` (x, y in level-0 px).

    Without `mpp` these are pixels of level 0, unchanged. With it each covers `mpp` x `mpp` microns of the slide: they
    are shrunk, with the triangle filter that models' tiles are shrunk with, from the coarsest level that is no coarser,
    or enlarged from level 0 where even that is coarser. What lies past the slide's edge, and what was never scanned, is
    white. Raises SlideRejected (NO_MPP, MPP_CONFLICT, ABSURD_MPP) for `mpp` on a slide without a usable scale,
    TileUnreadable where a tile of the file cannot be decoded, and SourceError.
    """
    if mpp is None:
        return _read_level(reader, 0, Box(*corner, corner[0] + size[0], corner[1] + size[1]))
    levels, microns = reader.inspection.levels, compute_grid_mpp(reader.inspection)
    level = choose_level(levels, microns, mpp, allow_upsampling=True)
    left, top = (_snap(at / each) for at, each in zip(corner, compute_downsamples(levels, level), strict=True))
    across, down = (mpp / each for each in compute_level_mpp(levels, level, microns))
    if across == down == 1 and left.is_integer() and top.is_integer():
        return _read_level(reader, level, Box(int(left), int(top), int(left) + size[0], int(top) + size[1]))
    return _resample(reader, level, (left, top), (across, down), size)


def _snap(at: float) -> float:
    """Return the nearest whole number for a coordinate that differs from it only by rounding."""
    nearest = round(at)
    return float(nearest) if abs(at - nearest) < 1 / _PARTS else at


def _resample(
    reader: SlideReader,
    level: int,
    corner: tuple[float, float],
    factors: tuple[float, float],
    size: tuple[int, int],
) -> RGB:
    """Return `size` px that start at `corner` (in px of the level), made in bands. `factors`: px of the level per px of
    the result, across and down."""
    (left, top), (across, down), (width, height) = corner, factors, size
    rows = max(1, int(BAND_PIXELS / (width * across * down)))
    bands = [
        _resample_band(reader, level, (left, top + first * down), factors, (width, min(rows, height - first)))
        for first in range(0, height, rows)
    ]
    return np.concatenate(bands)


def _resample_band(
    reader: SlideReader,
    level: int,
    corner: tuple[float, float],
    factors: tuple[float, float],
    size: tuple[int, int],
) -> RGB:
    """Return one band. The filter's reach past it is read too, so that neighbouring regions join without a seam."""
    (left, top), (across, down), (width, height) = corner, factors, size
    right, bottom = left + width * across, top + height * down
    reach_x, reach_y = (math.ceil(max(factor, 1.0)) + 1 for factor in factors)
    outer = Box(
        math.floor(left) - reach_x, math.floor(top) - reach_y, math.ceil(right) + reach_x, math.ceil(bottom) + reach_y
    )
    image = Image.fromarray(_read_level(reader, level, outer))
    kind = Image.Resampling.BILINEAR
    # Across first, then down, as `wsi.slide.resample` does; Pillow alone would choose the order by the shape.
    narrow = image.resize((width, image.height), kind, box=(left - outer.left, 0, right - outer.left, image.height))
    return np.asarray(narrow.resize(size, kind, box=(0, top - outer.top, width, bottom - outer.top)))


def _read_level(reader: SlideReader, level: int, box: Box) -> RGB:
    """Return the pixels of a box of the level, in its own px; the box may pass the edges."""
    info = reader.inspection.levels[level]
    pixels = np.full((box.height, box.width, 3), WHITE, np.uint8)
    inside = box.intersect(Box(0, 0, info.width, info.height))
    if inside.width <= 0 or inside.height <= 0:
        return pixels
    tiles = {tile.index: tile.box for tile in iterate_file_tiles(info, inside)}

    def paste(tile: EncodedTile) -> None:
        lies = tiles[tile.index]
        try:
            decoded = reader.decode(tile)
        except TileUnreadable as error:
            raise TileUnreadable(
                f"The tile at ({lies.left}, {lies.top}) of level {level} cannot be decoded: {error.sentence}."
            ) from error
        copy_part(lies.intersect(inside), decoded, lies, pixels, box)

    with ThreadPoolExecutor(min(count_available_cores(), len(tiles)), thread_name_prefix="region") as pool:
        for _ in pool.map(paste, reader.read_tiles(level, list(tiles))):
            pass
    return pixels
