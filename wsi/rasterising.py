"""Polygons as a mask: a pixel of the mask is analysed when its centre lies inside. Needs no numpy: plans and dry runs
ask the same code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import Final

from wsi.bitmap import Bitmap
from wsi.outline import Outline, Point, Polygon, box
from wsi.records.slides import Inspection

SIDE: Final = 4096  #: px of the mask's longer side at most: 24 level-0 px a pixel where the slide has 100,000
#: Of a plan's drawn region, edges times the rows of the mask that they cross: about 10 s. An outline of tissue has some
#: ten thousand; only hatching that fills the slide has more, whose strokes a pixel of the mask cannot tell apart.
MAX_CROSSINGS: Final = 2**24


def drawn_bitmap(outline: Outline, inspection: Inspection, most: int = MAX_CROSSINGS) -> Bitmap:
    """Return the mask of the whole slide. `most` bounds the time, see `mask_side`."""
    side = mask_side(outline, inspection, most)
    factor = -(-max(inspection.width, inspection.height) // side)
    height, width = -(-inspection.height // factor), -(-inspection.width // factor)
    polygons = outline.on_slide(inspection.bounds)
    return rasterised(polygons, height, width, width / inspection.width, height / inspection.height)


def rasterised(polygons: Sequence[Polygon], height: int, width: int, across: float, down: float) -> Bitmap:
    """Whose centres lie in any polygon: in its outer ring and in none of its holes, each by the even-odd rule. Points
    times (`across`, `down`) are px of the mask."""
    rows = [0] * height
    for polygon in polygons:
        left, top, right, bottom = box((polygon,))
        first, last = _within(top * down, height), _within(bottom * down + 1, height)
        begin, end = _within(left * across, width), _within(right * across + 1, width)
        if first < last and begin < end:
            inside, *holes = (
                _inside([(x * across - begin, y * down - first) for x, y in ring], last - first, end - begin)
                for ring in polygon
            )
            for hole in holes:
                inside = [row & ~cut for row, cut in zip(inside, hole, strict=True)]
            for number, row in enumerate(inside, first):
                rows[number] |= row << (width - end)
    return Bitmap(width, tuple(rows))


def mask_side(outline: Outline, inspection: Inspection, most: int = MAX_CROSSINGS) -> int:
    """Return the px of the mask's longer side at most: SIDE, halved until the edges cross at most `most` rows."""
    crossed = _crossings(outline, inspection)
    side = SIDE
    while side > 1 and crossed * side > most:
        side //= 2
    return side


def _crossings(outline: Outline, inspection: Inspection) -> float:
    """Return about how many rows of a mask of one px a side the edges cross: what drawing takes time for."""
    height = inspection.height
    rings = (ring for polygon in outline.on_slide(inspection.bounds) for ring in polygon)
    within = ([max(0.0, min(y, height)) for _, y in ring] for ring in rings)
    heights = math.fsum(abs(y1 - y0) for ys in within for y0, y1 in pairwise(ys))
    return heights / max(inspection.width, height)


def _within(place: float, size: int) -> int:
    return max(0, min(int(place), size))


def _inside(ring: Sequence[Point], height: int, width: int) -> list[int]:
    """Each edge turns over, in every row whose centre line it crosses, all pixels to the right of the crossing."""
    all_right = (1 << width) - 1
    rows = [0] * height
    for (x0, y0), (x1, y1) in pairwise(ring):
        first, last = (max(0, min(ceil(y - 0.5), height)) for y in (min(y0, y1), max(y0, y1)))
        if first < last:
            slope = (x1 - x0) / (y1 - y0)
            for row in range(first, last):
                column = ceil(x0 + (row + 0.5 - y0) * slope - 0.5)
                if column < width:
                    rows[row] ^= all_right >> max(column, 0)
    return rows
