"""Measures the objects of a window: their boxes and points first, and the columns of those that are its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.objects.table import Labels, ObjectTable
from wsi.objects.tracing import Outlines
from wsi.objects.window import Boxes, PixelBox


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Pixels:
    """The pixels of objects, row by row."""

    places: NDArray[np.int32]  #: [p] in the flat window
    labels: NDArray[np.int32]  #: [p]
    xs: NDArray[np.int32]  #: [p] from the left of the window
    ys: NDArray[np.int32]  #: [p]

    @staticmethod
    def of(labels: Labels) -> Pixels:
        flat = labels.ravel()
        places = np.flatnonzero(flat).astype(np.int32)
        ys, xs = np.divmod(places, np.int32(labels.shape[1]))
        return Pixels(places=places, labels=flat[places], xs=xs, ys=ys)

    def rename(self, names: NDArray[np.int32]) -> Pixels:
        """Return the pixels with `names[label]` for labels, without those of the name 0."""
        labels = names[self.labels]
        named = labels > 0
        return Pixels(places=self.places[named], labels=labels[named], xs=self.xs[named], ys=self.ys[named])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Extents:
    """The places of objects 1..n of a window on the slide."""

    points: NDArray[np.int32]  #: [n, 2] x, y of the topmost, then leftmost px
    boxes: Boxes


def measure_extents(pixels: Pixels, number: int, box: PixelBox) -> Extents:
    """Return the extents of objects 1..number of a window."""
    order = np.arange(len(pixels.labels))
    first, last = np.zeros((2, number + 1), np.intp)
    first[pixels.labels[::-1]] = order[::-1]
    last[pixels.labels] = order
    lefts, rights = np.full(number + 1, box.right - box.left, np.int32), np.zeros(number + 1, np.int32)
    np.minimum.at(lefts, pixels.labels, pixels.xs)
    np.maximum.at(rights, pixels.labels, pixels.xs)
    tops, bottoms = pixels.ys[first[1:]], pixels.ys[last[1:]] + 1
    points = np.stack([pixels.xs[first[1:]], tops], axis=1) + np.array([box.left, box.top])
    boxes = np.stack([lefts[1:], tops, rights[1:] + 1, bottoms], axis=1) + np.array([box.left, box.top] * 2)
    return Extents(points=points.astype(np.int32), boxes=boxes.astype(np.int64))


def measure_objects(
    pixels: Pixels, points: NDArray[np.int32], maps: Sequence[NDArray[np.uint8]], outlines: Outlines, box: PixelBox
) -> ObjectTable:
    """Return the table of objects 1..n by their pixels, points [n, 2] and outlines. `maps` are of an object and then of
    each class, if there are several. All rows have the tile 0."""
    number = len(points)

    def add_up(values: NDArray[np.generic]) -> NDArray[np.int64]:
        #: Sums of whole numbers below 2**53 are exact in floats, in whatever order.
        sums = np.bincount(pixels.labels, weights=values, minlength=number + 1)[1:]
        return sums.astype(np.int64)

    areas = np.bincount(pixels.labels, minlength=number + 1)[1:]
    middles = np.stack([add_up(pixels.xs) + areas * box.left, add_up(pixels.ys) + areas * box.top], axis=1)
    sums = np.stack([add_up(map_.ravel()[pixels.places]) for map_ in maps], axis=1)
    return make_table(points=points, areas=areas, middles=middles, sums=sums, outlines=outlines)


def make_table(
    *,
    points: NDArray[np.int32],
    areas: NDArray[np.int64],
    middles: NDArray[np.int64],
    sums: NDArray[np.int64],
    outlines: Outlines,
) -> ObjectTable:
    """Return a table by sums over each object's px: `middles` [n, 2] of x and y, `sums` [n, maps] of the maps. All rows
    have the tile 0."""
    return ObjectTable(
        tiles=np.zeros(len(points), np.int32),
        points=points,
        areas=areas.astype(np.int32),
        centroids=(2 * middles + areas[:, None]) / (2 * areas[:, None]),
        classes=sums[:, 1:].argmax(1).astype(np.uint8) if sums.shape[1] > 1 else np.zeros(len(points), np.uint8),
        chances=(sums / (255 * areas[:, None])).astype(np.float32),
        first_rings=outlines.first_rings,
        first_vertices=outlines.first_vertices,
        vertices=outlines.vertices,
    )
