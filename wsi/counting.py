"""The table of tile counts that inspection keeps (`wsi.tile_counts`), from the mask."""

from __future__ import annotations

import base64
import math
import zlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.grid import EPSILON, integral_of, taken, tissue_share
from wsi.tile_counts import CELLS, FULL, UNIT, Region, TileCounts

LEAST: Final = (0.0, 0.03, 0.1, 0.25, 0.5, 0.75, 0.92, 1.0)  #: thresholds of the table
STEP: Final = 1.25  #: from side to side of the table
BOXES: Final = (
    2**17
)  #: of the smallest side: a few more milliseconds; below it `covered` runs straight to the tissue's area
SMALLEST: Final = 16  #: level-0 px: no model's box is smaller
COARSEST: Final = 4  #: boxes along the slide's longer side at the largest side
SPREAD: Final = 0.1  #: of a side: counts are averaged over sides around it, since where a grid's lines fall is chance
AROUND_MANY, AROUND_FEW, FEW_BOXES = 2, 12, 2**14  #: sides to average; more where the boxes are few


def count_tiles(mask: NDArray[np.bool_], width: int, height: int, elongation: float = 1.0) -> TileCounts:
    """Of a slide of `width` x `height` level-0 px that `mask` spans. `elongation`: height over width of a box (that of
    pixels that are not square)."""
    integral = integral_of(mask)
    bounds = _bounds(mask, width, height)
    smallest = max(SMALLEST, math.ceil(math.sqrt(width * height / BOXES)))
    steps = max(1, math.ceil(math.log(max(1.0, max(width, height) / COARSEST / smallest), STEP)) + 1)
    sides = tuple(sorted({round(smallest * STEP**step) for step in range(steps)}))
    by_side = [
        np.mean([_covered(integral, width, height, near, elongation) for near in _around(side, width, height)], axis=0)
        for side in sides
    ]
    table = np.rint(np.array(by_side).T * UNIT).astype(int)
    return TileCounts(
        sides=sides,
        least=LEAST,
        covered=tuple(tuple(row) for row in table.tolist()),
        tissue=round(float(mask.mean()) * UNIT),
        right=round(float(mask[:, -1].mean()) * UNIT),
        bottom=round(float(mask[-1].mean()) * UNIT),
        bounds=bounds,
        cells=_cells(integral, width, height, bounds),
    )


def _around(side: int, width: int, height: int) -> NDArray[np.float64]:
    few = width * height / side**2 <= FEW_BOXES
    return side * np.linspace(1 - SPREAD, 1 + SPREAD, AROUND_FEW if few else AROUND_MANY)


def _covered(
    integral: NDArray[np.float64], width: int, height: int, side: float, elongation: float
) -> NDArray[np.float64]:
    """For each of LEAST: share of the slide's area in boxes taken."""
    root = math.sqrt(elongation)
    left = np.arange(0, width, max(1, round(side / root)), dtype=np.int64)
    top = np.arange(0, height, max(1, round(side * root)), dtype=np.int64)
    right, bottom = np.append(left[1:], width), np.append(top[1:], height)
    share = tissue_share(integral, left, right, top, bottom, width, height)
    weights = (bottom - top)[:, None] * (right - left)[None, :] / (width * height)
    return np.array([weights[taken(share, least)].sum() for least in LEAST])


def _bounds(mask: NDArray[np.bool_], width: int, height: int) -> Region:
    """Level-0 px that hold all tissue; the whole slide where there is none."""
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    if not len(columns):
        return 0, 0, width, height
    across, down = width / mask.shape[1], height / mask.shape[0]
    left, top = math.floor(columns[0] * across), math.floor(rows[0] * down)
    right, bottom = math.ceil((columns[-1] + 1) * across), math.ceil((rows[-1] + 1) * down)
    return left, top, min(right, width) - left, min(bottom, height) - top


def _cells(integral: NDArray[np.float64], width: int, height: int, bounds: Region) -> str:
    left, top, across, down = bounds
    x: NDArray[np.float64] = np.linspace(left, left + across, CELLS + 1)
    y: NDArray[np.float64] = np.linspace(top, top + down, CELLS + 1)
    share = tissue_share(integral, x[:-1], x[1:], y[:-1], y[1:], width, height)
    values = np.rint(share * FULL)
    values[(share > EPSILON) & (values == 0)] = 1
    values[(share < 1 - EPSILON) & (values == FULL)] = FULL - 1
    flat = values.clip(0, FULL).astype(np.uint8).ravel()
    return base64.b64encode(zlib.compress((flat[::2] << 4 | flat[1::2]).tobytes(), 9)).decode()
