"""Polygons as a mask: a pixel of the mask is analysed when its centre lies inside."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import FailReason, JobFailed
from wsi.mask import DRAWN, SlideMask
from wsi.outline import Outline, Polygon, box, missed
from wsi.records.slides import Inspection

SIDE: Final = 4096  #: px of the mask's longer side at most: 24 level-0 px a pixel where the slide has 100,000
_CROSSINGS: Final = 2**20  #: of edges and rows at a time: about 60 MB


def drawn_mask(outline: Outline, inspection: Inspection) -> SlideMask:
    """Raises JobFailed for a region that misses the slide."""
    polygons = outline.on_slide(inspection.bounds)
    left, top, right, bottom = box(polygons)
    if left >= inspection.width or top >= inspection.height or right <= 0 or bottom <= 0:
        raise JobFailed(FailReason.PLANNING_FAILED, missed(inspection))
    factor = -(-max(inspection.width, inspection.height) // SIDE)
    height, width = -(-inspection.height // factor), -(-inspection.width // factor)
    pixels = rasterised(polygons, height, width, width / inspection.width, height / inspection.height)
    settings = {"frame": outline.frame.value, "polygons": len(outline.polygons), "vertices": outline.vertices}
    return SlideMask(pixels, DRAWN, settings)


def rasterised(polygons: tuple[Polygon, ...], height: int, width: int, across: float, down: float) -> NDArray[np.bool_]:
    """[height, width] whose centres lie in any polygon: in its outer ring and in none of its holes, each by the
    even-odd rule. Points times (`across`, `down`) are px of the mask."""
    mask = np.zeros((height, width), np.bool_)
    for polygon in polygons:
        left, top, right, bottom = box((polygon,))
        rows = slice(_within(top * down, height), _within(bottom * down + 1, height))
        columns = slice(_within(left * across, width), _within(right * across + 1, width))
        if rows.start < rows.stop and columns.start < columns.stop:
            outer, *holes = (np.array(ring) * (across, down) - (columns.start, rows.start) for ring in polygon)
            part = mask[rows, columns]
            inside = _inside(outer, part.shape)
            for hole in holes:
                inside &= ~_inside(hole, part.shape)
            part |= inside
    return mask


def _within(place: float, size: int) -> int:
    return max(0, min(int(place), size))


def _inside(ring: NDArray[np.float64], shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Each edge turns over, in every row whose centre line it crosses, all pixels to the right of the crossing."""
    height, width = shape
    turned = np.zeros((height, width + 1), np.uint8)
    (x0, y0), (x1, y1) = ring[:-1].T, ring[1:].T
    first = np.ceil(np.minimum(y0, y1) - 0.5).clip(0, height).astype(np.int64)
    crossed = np.ceil(np.maximum(y0, y1) - 0.5).clip(0, height).astype(np.int64) - first
    ends = np.cumsum(crossed)
    for start in range(0, int(ends[-1]), _CROSSINGS):
        number = np.arange(start, min(start + _CROSSINGS, int(ends[-1])))
        edge = np.searchsorted(ends, number, side="right")
        row = first[edge] + number - (ends[edge] - crossed[edge])
        slope = (x1[edge] - x0[edge]) / (y1[edge] - y0[edge])
        column = np.ceil(x0[edge] + (row + 0.5 - y0[edge]) * slope - 0.5).clip(0, width).astype(np.int64)
        np.bitwise_xor.at(turned, (row, column), np.uint8(1))
    return np.bitwise_xor.accumulate(turned, axis=1)[:, :-1].astype(np.bool_)
