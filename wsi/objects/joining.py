"""Makes whole objects of what windows give of those that are longer than a window's sight. They are rare.

All windows agree on every px within their sight, so nothing here is a guess: a part with a px in a complete object is a
part of that object, and two parts of neighbouring windows with a px in common are of one object.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.objects.containing import Shapes
from wsi.objects.measuring import make_table
from wsi.objects.part_table import PartTable
from wsi.objects.table import ObjectTable
from wsi.objects.tracing import trace_outlines
from wsi.objects.window import WindowGrid

#: Px of a part that are looked up in complete objects; one would do, if all maps were equal to the last bit.
_SAMPLES = 33


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class JoinedObjects:
    """The objects of a slide that no single window decided on."""

    table: ObjectTable  #: rows have the number of the tile whose kept box holds the point
    large: int  #: rows that another window than their own held whole
    joined: int  #: rows joined of parts, since no window held them whole
    outside: int  #: large objects that are no rows, since their points lie in tiles that were not run


def join_parts(large: ObjectTable, long: ObjectTable, parts: PartTable, grid: WindowGrid) -> JoinedObjects:
    """Return the objects that `large` rows (of `Sight.LARGE`) and parts give; `long` are rows of `Sight.LONG`, which
    are results already. All windows that were run have given their rows and parts."""
    _, firsts = np.unique(large.points, axis=0, return_index=True)
    once = large.select(firsts)
    #: An object that its own window does not hold whole has a part there, with its point.
    tiles = {
        (int(x), int(y)): tile for (x, y), tile in zip(grid.locate_boxes(parts.boxes[:, :2]), parts.tiles, strict=True)
    }
    owners = np.array([tiles.get((int(x), int(y)), -1) for x, y in grid.locate_boxes(once.points)], np.int32)
    once.tiles[:] = owners
    kept = once.select(np.flatnonzero(owners >= 0))
    shapes = Shapes.of(ObjectTable.join([once, long]))
    left = np.array([row for row in range(len(parts)) if not _lies_within(parts, row, shapes)], np.intp)
    joined = [_join_group(parts, left[group], grid) for group in _group(parts, left, grid)]
    table = ObjectTable.join([kept, *joined])
    order = np.lexsort((table.points[:, 0], table.points[:, 1], table.tiles))
    return JoinedObjects(table=table.select(order), large=len(kept), joined=len(joined), outside=len(once) - len(kept))


def _lies_within(parts: PartTable, row: int, shapes: Shapes) -> bool:
    """Return whether more than half of some px of the part lie in one complete object."""
    bits = parts.unpack(row)
    ys, xs = np.nonzero(bits)
    chosen = np.unique(np.linspace(0, len(ys) - 1, _SAMPLES).astype(np.intp))
    points = np.stack([xs[chosen] + parts.boxes[row, 0], ys[chosen] + parts.boxes[row, 1]], axis=1)
    return any(2 * np.count_nonzero(held) > len(points) for held in shapes.find_containing(points))


def _group(parts: PartTable, rows: NDArray[np.intp], grid: WindowGrid) -> list[NDArray[np.intp]]:
    """Return the places in `rows` of the parts of each object: parts with a px in common are of one."""
    keys: list[NDArray[np.int64]] = []
    for row in rows:
        left, top = map(int, parts.boxes[row, :2])
        ys, xs = np.nonzero(parts.unpack(int(row)))
        xs, ys = xs + left, ys + top
        #: A px is in two parts only in the first column or row of a kept box.
        shared = (xs % grid.kept_x == 0) | (ys % grid.kept_y == 0)
        keys.append(ys[shared].astype(np.int64) << 32 | xs[shared])
    groups = np.arange(len(rows))
    owners = np.repeat(groups, [len(some) for some in keys])
    if not len(owners):
        return [np.array([row]) for row in groups]
    _, pixels = np.unique(np.concatenate(keys), return_inverse=True)
    while True:
        least = np.full(int(pixels.max()) + 1, len(rows))
        np.minimum.at(least, pixels, groups[owners])
        lower = groups.copy()
        np.minimum.at(lower, owners, least[pixels])
        lower = lower[lower]
        if np.array_equal(lower, groups):
            return [np.flatnonzero(groups == group) for group in np.unique(groups)]
        groups = lower


def _join_group(parts: PartTable, rows: NDArray[np.intp], grid: WindowGrid) -> ObjectTable:
    """Return the one object of these parts."""
    left, top = map(int, parts.boxes[rows, :2].min(axis=0))
    right, bottom = map(int, parts.boxes[rows, 2:].max(axis=0))
    canvas = np.zeros((bottom - top, right - left), np.int32)
    ends = (grid.locate_boxes(parts.boxes[rows, :2]) + 1) * (grid.kept_x, grid.kept_y) - parts.boxes[rows, :2]
    for row, (width, height) in zip(rows, ends, strict=True):
        x, y = parts.boxes[row, :2] - (left, top)
        own = parts.unpack(int(row))[:height, :width]
        canvas[y : y + own.shape[0], x : x + own.shape[1]] |= own
    ys, xs = np.nonzero(canvas)
    area = len(ys)
    point = np.array([[xs[0] + left, ys[0] + top]], np.int32)
    table = make_table(
        points=point,
        areas=np.array([area]),
        middles=np.array([[int(xs.sum()) + area * left, int(ys.sum()) + area * top]]),
        sums=parts.sums[rows].sum(axis=0)[None],
        outlines=trace_outlines(canvas, 1, left, top),
    )
    boxes = grid.locate_boxes(parts.boxes[rows, :2])
    own = (boxes == grid.locate_boxes(point)).all(axis=1)
    table.tiles[:] = parts.tiles[rows][own][0]
    return table
