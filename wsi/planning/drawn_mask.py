"""The mask that replaces tissue detection where a user has drawn a region: a pixel is analysed when its centre is
inside a polygon. Plans and dry runs share this code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import FailReason, JobFailed
from wsi.inspection.mask import DRAWN, SlideMask
from wsi.records.outline import Outline, Point, Polygon, compute_bounding_box, describe_missed_region
from wsi.records.slides import Inspection

SIDE: Final = 4096  #: px of the mask's longer side at most: 24 level-0 px a pixel where the slide has 100,000
#: Of a plan's drawn region, edges times the rows of the mask that they cross: about 10 s. An outline of tissue has some
#: ten thousand; only hatching that fills the slide has more, whose strokes a pixel of the mask cannot tell apart.
MAX_CROSSINGS: Final = 2**24


def draw_mask(outline: Outline, inspection: Inspection, most: int = MAX_CROSSINGS) -> SlideMask:
    """Return the mask of the whole slide, drawn from the outline; `most` bounds the time, see `choose_mask_side`.
    Raises JobFailed for a region that misses the slide."""
    polygons = outline.on_slide(inspection.bounds)
    if (sentence := describe_missed_region(polygons, inspection)) is not None:
        raise JobFailed(FailReason.PLANNING_FAILED, sentence)
    factor = -(-max(inspection.width, inspection.height) // choose_mask_side(outline, inspection, most))
    height, width = -(-inspection.height // factor), -(-inspection.width // factor)
    pixels = rasterise(polygons, height, width, width / inspection.width, height / inspection.height)
    settings = {"frame": outline.frame.value, "polygons": len(outline.polygons), "vertices": outline.vertices}
    return SlideMask(pixels, DRAWN, settings)


def rasterise(polygons: Sequence[Polygon], height: int, width: int, across: float, down: float) -> NDArray[np.bool_]:
    """Return the pixels, [height, width], whose centres are inside any polygon: in its outer ring and in none of its
    holes, each by the even-odd rule. Points times (`across`, `down`) are px of the mask.

    A row is one integer while polygons are drawn, so that the time follows the edges and not the area: a polygon costs
    a few operations a row, however wide it is.
    """
    rows = [0] * height
    for polygon in polygons:
        left, top, right, bottom = compute_bounding_box((polygon,))
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
    return _unpack(rows, width)


def choose_mask_side(outline: Outline, inspection: Inspection, most: int = MAX_CROSSINGS) -> int:
    """Return the largest allowed px of the mask's longer side: SIDE, halved until the edges cross at most `most`
    rows."""
    crossed = _crossings(outline, inspection)
    side = SIDE
    while side > 1 and crossed * side > most:
        side //= 2
    return side


def _crossings(outline: Outline, inspection: Inspection) -> float:
    """Return the approximate number of rows that the edges cross in a mask of one px a side. Drawing time follows
    it."""
    height = inspection.height
    rings = (ring for polygon in outline.on_slide(inspection.bounds) for ring in polygon)
    within = ([max(0.0, min(y, height)) for _, y in ring] for ring in rings)
    heights = math.fsum(abs(y1 - y0) for ys in within for y0, y1 in pairwise(ys))
    return heights / max(inspection.width, height)


def _within(place: float, size: int) -> int:
    return max(0, min(int(place), size))


def _inside(ring: Sequence[Point], height: int, width: int) -> list[int]:
    """Return the rows of the pixels inside, the left one in the highest of `width` bits. In every row whose centre line
    it crosses, each edge flips all pixels to the right of the crossing."""
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


def _unpack(rows: Sequence[int], width: int) -> NDArray[np.bool_]:
    size = -(-width // 8)
    packed = b"".join((row << (8 * size - width)).to_bytes(size) for row in rows)
    bits = np.frombuffer(packed, np.uint8).reshape(len(rows), size)
    return np.unpackbits(bits, axis=1, count=width).astype(np.bool_)
