"""Turns the maps of one window into objects that are the same whatever the windows.

A window decides which objects are its own before it traces any. An object is complete in a window if its box, with
the ring that decides its px, lies in the trusted box: then it is the same there as in any other window in which it is
complete (`cores` says why: a px of it, or one beside it, sees the cores within its reach, and each of these by so many
px that it is known for one). Its point, the topmost and then leftmost px, lies in one kept box. If it is complete in
the window of that box, that window alone gives it. That holds for all that are not longer than `ObjectOutput.largest`.

Longer ones may be incomplete in their own window: then every window that holds one complete gives it, and every one
that does not gives what of it lies in its kept box, as parts. `joining` makes one object of these.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wsi.objects.cores import divide_objects
from wsi.objects.found import FoundObjects, Sight
from wsi.objects.measuring import Extents, Pixels, measure_extents, measure_objects
from wsi.objects.parts import cut_parts
from wsi.objects.tracing import trace_outlines
from wsi.objects.window import Window
from wsi.records.outputs import ObjectOutput


def extract_objects(maps: NDArray[np.uint8], window: Window, output: ObjectOutput, tile: int) -> FoundObjects:
    """Return what the window gives by its maps [maps, height, width] in parts of 255."""
    inside, depth, *classes = _cut_trusted(maps, window)
    labels = divide_objects(inside, depth, output.rule)
    number = int(labels.max(initial=0))
    means = (inside, *classes)
    pixels = Pixels.of(labels)
    extents = measure_extents(pixels, number, window.trusted)
    complete, given, sights = _choose(extents, window)

    rows = given[np.lexsort((extents.points[given, 0], extents.points[given, 1]))]
    names = np.zeros(number + 1, np.int32)
    names[rows + 1] = np.arange(1, len(rows) + 1)
    own = pixels.rename(names)
    traced = np.zeros(labels.size, np.int32)
    traced[own.places] = own.labels
    outlines = trace_outlines(traced.reshape(labels.shape), len(rows), window.trusted.left, window.trusted.top)
    table = measure_objects(own, extents.points[rows], means, outlines, window.trusted)
    table.tiles[:] = tile
    cut = np.flatnonzero(~complete & window.kept.touches(extents.boxes)) + 1
    return FoundObjects(table=table, sights=sights[rows], parts=cut_parts(labels, cut, means, window, tile))


def _cut_trusted(maps: NDArray[np.uint8], window: Window) -> NDArray[np.uint8]:
    """Return the maps over the trusted box, without objects beyond the slide's edges."""
    grid, trusted = window.grid, window.trusted
    cut = maps[:, grid.margin : maps.shape[1] - grid.margin, grid.margin : maps.shape[2] - grid.margin]
    slide = trusted.intersect(grid.slide)
    if slide == trusted:
        return cut
    held = np.zeros_like(cut)
    here = (
        slice(slide.top - trusted.top, slide.bottom - trusted.top),
        slice(slide.left - trusted.left, slide.right - trusted.left),
    )
    held[:, *here] = cut[:, *here]
    return held


def _choose(extents: Extents, window: Window) -> tuple[NDArray[np.bool_], NDArray[np.intp], NDArray[np.uint8]]:
    """Return which objects are complete, the numbers of those that the window gives, and the sight of each."""
    grid, boxes = window.grid, extents.boxes
    complete = window.trusted.reduce(grid.ring).contains(boxes)
    owners = grid.locate_boxes(extents.points)
    is_own = (owners == (window.column, window.row)).all(1)
    trusted = grid.locate_trusted(owners)
    ring = np.array([-grid.ring, -grid.ring, grid.ring, grid.ring])
    ringed = boxes + ring
    is_whole = (ringed[:, :2] >= trusted[:, :2]).all(1) & (ringed[:, 2:] <= trusted[:, 2:]).all(1)
    given = np.flatnonzero(complete & (is_own | ~is_whole))
    #: Another window sees less than the whole of an object in its kept box only if that goes on beyond its sight.
    is_long = (boxes[:, 2:] - boxes[:, :2] > grid.sight).any(1)
    sights = np.where(is_whole, np.where(is_long, Sight.LONG, Sight.OWN), Sight.LARGE)
    return complete, given, sights.astype(np.uint8)
