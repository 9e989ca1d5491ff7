"""Divides the pixels of a dense output into objects, by rules that look no further than an object and its reach.

A watershed decides at once over all that touches, so that a clump cut by a tile's border parts otherwise. Here each
object has a core, whose pixels share sides, and takes the pixels around it within `reach` steps. A pixel goes to the
core pixel that is the fewest steps away, and of several equally near to the topmost and then leftmost one. To compare
pixels and not cores is what bounds the sight that this needs: a core may begin far above, outside of the window.

So the object of a pixel depends on the pixels within `reach` steps of it, and on whether those of them that are deep
belong to a core of the least size, which their `least_core - 1` nearest tell. What lies further away changes nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wsi.objects.components import find_components
from wsi.objects.table import Labels
from wsi.records.outputs import CoreRule

_NO_ROOT = np.iinfo(np.int32).max


def divide_objects(inside: NDArray[np.uint8], depth: NDArray[np.uint8], rule: CoreRule) -> Labels:
    """Return [height, width]: 0 outside of objects, 1..n in the order of the objects' topmost and then leftmost core
    pixels."""
    height, width = inside.shape
    #: A frame of one pixel, so that a step beyond the window's edge ends on a pixel that is not free.
    within = np.zeros((height + 2, width + 2), np.bool_)
    np.greater_equal(inside, rule.inside, out=within[1:-1, 1:-1])
    cores = np.zeros_like(within)
    np.greater_equal(depth, rule.core, out=cores[1:-1, 1:-1])
    cores &= within
    found, number = find_components(cores)
    labels = found.ravel()
    places = np.flatnonzero(cores.ravel()).astype(np.int32)
    names = _name_cores(labels[places], number, rule.least_core)
    named = names[labels[places]]
    kept = named > 0
    labels[places] = named
    free = within.ravel()
    free[places[kept]] = False
    _grow(labels, free, places[kept], width + 2, rule.reach)
    return np.ascontiguousarray(found[1:-1, 1:-1])


def _name_cores(labels: Labels, number: int, least: int) -> Labels:
    """Return the new label of each old one, in the order of first pixels, 0 for those of fewer than `least` pixels.
    `labels` are those of the core pixels, row by row."""
    sizes = np.bincount(labels, minlength=number + 1)
    first = np.full(number + 1, len(labels), np.int64)
    first[labels[::-1]] = np.arange(len(labels) - 1, -1, -1)
    kept = np.flatnonzero(sizes[1:] >= least) + 1
    names = np.zeros(number + 1, np.int32)
    names[kept[np.argsort(first[kept])]] = np.arange(1, len(kept) + 1)
    return names


def _grow(labels: Labels, free: NDArray[np.bool_], cores: NDArray[np.int32], width: int, reach: int) -> None:
    """Assign to objects the free pixels within `reach` steps of the cores. A step begins at the pixels of the last."""
    roots = np.full(labels.shape, _NO_ROOT, np.int32)
    roots[cores] = cores
    border = cores
    for _ in range(reach):
        reached: list[NDArray[np.int32]] = []
        found = roots[border]
        for step in (-width, -1, 1, width):
            beside = border + np.int32(step)
            open_ = free[beside]
            beside, root = beside[open_], found[open_]
            known = roots[beside]
            nearer = root < known
            roots[beside[nearer]] = root[nearer]
            reached.append(beside[known == _NO_ROOT])
        border = np.concatenate(reached)
        if not len(border):
            return
        free[border] = False
        labels[border] = labels[roots[border]]
