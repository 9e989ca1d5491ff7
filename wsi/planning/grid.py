"""The grid of model tiles on a slide, and the choice of those that hold tissue. Level-0 pixels unless stated
otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import FailReason, JobFailed
from wsi.planning.plan import Grid
from wsi.planning.scale import (
    Microns,
    choose_level,
    choose_reduction,
    compute_box_sides,
    compute_downsamples,
    compute_level_mpp,
    describe_too_many_boxes,
    may_enlarge,
)
from wsi.records.model_card import Boxes, ModelCard, ReadLevel
from wsi.records.slides import Inspection, LevelInfo
from wsi.slide.coding import Reduction

#: Side of a box in px of the level that is read: 300 MiB. Tiles of 4,096 px at 0.5 um/px (HIPT) on the finest common
#: scanners, with 0.22 um/px, are 9,310 px. More comes of a slide without overviews, or of a wrong mpp.
MAX_LEVEL_SIDE = 10_240

#: Parts of a px that a box's edges lie at. Pillow's edges are of 32 bits, which hold these exactly to 16,384 px. And
#: the last bits of a downsample do not decide whether an edge lies on a whole px.
PARTS = 1024

#: Share of a box below which rounding in the integral image cannot be told from zero.
EPSILON: Final = 1e-9
#: Rows of boxes that are counted at a time: of 16 million boxes their shares would take hundreds of megabytes at once.
_BAND: Final = 256

Region = tuple[int, int, int, int]  #: x, y, width, height


def make_grid(
    inspection: Inspection,
    card: ModelCard,
    mpp: Microns,
    *,
    allow_upsampling: bool = False,
    read_level: ReadLevel | None = None,
    reduces: Callable[[int], bool] | None = None,
    covers: bool = True,
) -> Grid:
    """Make a grid of boxes, square in microns, side by side from the slide's origin. The last ones may pass its edge,
    so that the whole slide is covered.

    `mpp` are those of level 0. `read_level` stands in for the card's. `reduces` says of which levels tiles may be
    decoded smaller where the model allows it; without it they are decoded whole. Without `covers` boxes lie around
    objects: it has their size, and no columns and rows. Raises SlideRejected SLIDE_TOO_COARSE, and JobFailed for more
    boxes than `wsi.planning.scale.MAX_BOXES` and for boxes above `MAX_LEVEL_SIDE`.
    """
    enlarging = may_enlarge(card, mpp, asked=allow_upsampling)
    level = choose_level(inspection.levels, mpp, card.mpp, allow_upsampling=enlarging)
    if (read_level or card.read_level) is ReadLevel.FINEST:
        level = 0
    side, side_y = compute_box_sides(card, mpp)
    columns, rows = (-(-inspection.width // side), -(-inspection.height // side_y)) if covers else (0, 0)
    if (sentence := describe_too_many_boxes(columns, rows, side, side_y)) is not None:
        raise JobFailed(FailReason.PLANNING_FAILED, sentence)
    info, (across, down) = inspection.levels[level], compute_downsamples(inspection.levels, level)
    reduction: Reduction = 1
    if reduces is not None and reduces(level):
        sides = (side / across, side_y / down)
        reduction = choose_reduction(info, compute_level_mpp(inspection.levels, level, mpp), card.mpp, sides)
    across, down = across * reduction, down * reduction
    fractions = card.boxes is Boxes.RESAMPLED
    level_side, level_side_y = (_read_side(*axis, fractions) for axis in ((side, across), (side_y, down)))
    if max(level_side, level_side_y) > MAX_LEVEL_SIDE:
        raise JobFailed(
            FailReason.PLANNING_FAILED,
            f"A tile of the model covers {level_side:,} x {level_side_y:,} px of the slide, more than "
            f"{MAX_LEVEL_SIDE:,} a side: check the slide's µm per pixel, or save it with overviews (a pyramid).",
        )
    return Grid(
        side=side,
        side_y=side_y,
        stride=side,
        stride_y=side_y,
        columns=columns,
        rows=rows,
        level=level,
        level_side=level_side,
        level_side_y=level_side_y,
        level_downsample=across,
        level_downsample_y=down,
        reduction=reduction,
        fractions=fractions,
    )


def _read_side(side: int, downsample: float, fractions: bool) -> int:
    """Return the px that are read of a box. With fractions these are enough for any place of the box within a px."""
    if fractions:
        return math.ceil(round(side / downsample * PARTS) / PARTS) + 1
    return max(1, round(side / downsample))


def select_tiles(
    grid: Grid,
    mask: NDArray[np.bool_],
    *,
    width: int,
    height: int,
    min_tissue: float,
    region: Region | None = None,
) -> NDArray[np.int32]:
    """Return the origins x, y, [n, 2], of the boxes to analyse, ordered by x, then y: a tile's number is its place in
    this list.

    `mask` spans the slide (`width` x `height` px) whatever its own size. A box is taken when tissue covers at least
    `min_tissue` (0..1), and more than nothing, of its part inside the slide; with `region`, when it also overlaps
    that. The region moves no box, so a tile's values do not depend on it. Raises JobFailed for a region that misses
    the slide.
    """
    x = np.arange(grid.columns, dtype=np.int64) * grid.stride
    y = np.arange(grid.rows, dtype=np.int64) * grid.stride_y
    box = grid.side, grid.side_y
    if region is not None:
        x, y = _overlapping(box, x, y, region, width, height)
    column, row = np.nonzero(_select_boxes(compute_integral(mask), box, x, y, width, height, min_tissue).T)
    return np.stack([x[column], y[row]], axis=1).astype(np.int32)


def count_tiles(
    mask: NDArray[np.bool_],
    *,
    slide: tuple[int, int],
    box: tuple[int, int],
    min_tissue: float,
    region: Region | None = None,
) -> int:
    """Return the number of boxes of size `box` (width, height) on `slide` (width, height) that `select_tiles` selects,
    without making the list of them. Raises as it does."""
    x, y = (np.arange(-(-size // side), dtype=np.int64) * side for size, side in zip(slide, box, strict=True))
    if region is not None:
        x, y = _overlapping(box, x, y, region, *slide)
    integral = compute_integral(mask)
    bands = (y[start : start + _BAND] for start in range(0, len(y), _BAND))
    return sum(int(_select_boxes(integral, box, x, band, *slide, min_tissue).sum()) for band in bands)


def has_enough_tissue(share: NDArray[np.float64], min_tissue: float) -> NDArray[np.bool_]:
    """Return which boxes are analysed, by the share of tissue in each."""
    return (share >= min_tissue - EPSILON) & (share > EPSILON)


def _select_boxes(
    integral: NDArray[np.float64],
    box: tuple[int, int],
    x: NDArray[np.int64],
    y: NDArray[np.int64],
    width: int,
    height: int,
    min_tissue: float,
) -> NDArray[np.bool_]:
    """Return which of the boxes with these origins are analysed, [rows, columns]."""
    right, bottom = np.minimum(x + box[0], width), np.minimum(y + box[1], height)
    return has_enough_tissue(compute_tissue_share(integral, x, right, y, bottom, width, height), min_tissue)


def _overlapping(
    box: tuple[int, int], x: NDArray[np.int64], y: NDArray[np.int64], region: Region, width: int, height: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    left, top, across, down = region
    if across <= 0 or down <= 0 or left >= width or top >= height or left + across <= 0 or top + down <= 0:
        raise JobFailed(
            FailReason.PLANNING_FAILED,
            f"The region {across} x {down} px at ({left}, {top}) misses the slide of {width} x {height} px: "
            "state it in pixels of the full resolution.",
        )
    return (
        x[(x < left + across) & (x + box[0] > left)],
        y[(y < top + down) & (y + box[1] > top)],
    )


def compute_integral(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the integral image, [height + 1, width + 1]: the sum of all pixels above and left of each corner."""
    height, width = mask.shape
    integral = np.zeros((height + 1, width + 1))
    integral[1:, 1:] = mask.cumsum(axis=0, dtype=np.int64).cumsum(axis=1)
    return integral


def compute_tissue_share(
    integral: NDArray[np.float64],
    left: NDArray[np.int64] | NDArray[np.float64],
    right: NDArray[np.int64] | NDArray[np.float64],
    top: NDArray[np.int64] | NDArray[np.float64],
    bottom: NDArray[np.int64] | NDArray[np.float64],
    width: int,
    height: int,
) -> NDArray[np.float64]:
    """Return the covered share of every box, [rows, columns], from a mask's integral image. It is read between its
    pixels: the sum of a piecewise constant mask is piecewise bilinear, so boxes smaller than a mask pixel are exact
    too.

    Each axis has its own scale (a level's width and height are rounded apart), so that even a box with one pixel
    inside the slide has an area in the mask.
    """
    mask_height, mask_width = integral.shape[0] - 1, integral.shape[1] - 1
    x0, x1 = left * (mask_width / width), right * (mask_width / width)
    y0, y1 = top * (mask_height / height), bottom * (mask_height / height)
    bands = _between(integral, y1, axis=0) - _between(integral, y0, axis=0)
    tissue = _between(bands, x1, axis=1) - _between(bands, x0, axis=1)
    return tissue / ((y1 - y0)[:, None] * (x1 - x0)[None, :])


def _between(table: NDArray[np.float64], at: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return `table` read at fractional places along `axis`, linearly between its entries."""
    last = table.shape[axis] - 1
    low = np.clip(np.floor(at).astype(np.int64), 0, last)
    high = np.minimum(low + 1, last)
    part = np.expand_dims(at - low, 1 - axis)
    return table.take(low, axis=axis) * (1 - part) + table.take(high, axis=axis) * part


def compute_level_boxes(grid: Grid, tiles: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the origins, [n, 2], of the pixels that are read of boxes, in px of the level as it is decoded; their size
    there is `grid.level_side` x `grid.level_side_y`."""
    if grid.fractions:
        return np.floor(compute_exact_boxes(grid, tiles)[:, :2]).astype(np.int32)
    corners = np.rint(tiles / (grid.level_downsample, grid.level_downsample_y)).astype(np.int32)
    return corners - np.array(grid.halo, np.int32)


def compute_exact_boxes(grid: Grid, tiles: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return left, top, right, bottom of boxes, [n, 4], in px of the level as it is decoded, to `1 / PARTS`."""
    edges = np.concatenate((tiles, tiles + np.array((grid.side, grid.side_y))), axis=1)
    return np.rint(edges / ((grid.level_downsample, grid.level_downsample_y) * 2) * PARTS) / PARTS


def compute_read_boxes(grid: Grid, tiles: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the boxes of `compute_exact_boxes`, [n, 4], in px from the corner of what is read of each."""
    found = compute_exact_boxes(grid, tiles)
    return found - np.floor(np.tile(found[:, :2], 2))


def reduce_level(level: LevelInfo, reduction: Reduction) -> LevelInfo:
    """Return the level in the pixels that its tiles are decoded to; they keep their places. The last pixel at the right
    and at the bottom may hold up to `reduction - 1` px that the file stores past the slide's edge."""
    return replace(
        level,
        width=-(-level.width // reduction),
        height=-(-level.height // reduction),
        downsample=level.downsample * reduction,
        tile_width=level.tile_width // reduction,
        tile_height=level.tile_height // reduction,
    )


def order_tiles(tiles: NDArray[np.int32], grid: Grid, level: LevelInfo) -> NDArray[np.int32]:
    """Return the tile numbers, [n], row-major by the file tile of `level` that holds a box's first pixel.

    Neighbours in this order share file tiles, and file tiles lie in row-major order in nearly every file, so that a
    contiguous block of it reads few and long byte ranges.
    """
    x, y = compute_level_boxes(grid, tiles).T
    decoded = reduce_level(level, grid.reduction)
    return np.lexsort((x, y, x // decoded.tile_width, y // decoded.tile_height)).astype(np.int32)
