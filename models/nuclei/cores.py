"""Divides the pixels of a dense output into objects, by rules that look no further than an object and its reach.

A watershed decides at once over all that touches, so that a clump cut by a tile's border parts otherwise. Here each
object has a core, whose pixels share sides, and takes the pixels around it within `reach` steps: of the nearest core,
and of the topmost and then leftmost one of two equally near. So a pixel's object depends on the pixels within `reach`
of it and on the cores that lie there, whichever tile shows them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Labels = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, slots=True)
class CoreRule:
    """Thresholds in parts of 255, since probabilities are rounded to those before anything is decided."""

    inside: int  #: least probability of a pixel of an object
    core: int  #: least depth of a pixel of a core
    least_core: int  #: px
    reach: int  #: steps of one px, sideways, up or down


def divide_objects(inside: NDArray[np.uint8], depth: NDArray[np.uint8], rule: CoreRule) -> Labels:
    """Return [height, width]: 0 outside of objects, 1..n in the order of the objects' topmost and then leftmost core
    pixels."""
    within = inside >= rule.inside
    found, number = ndimage.label(within & (depth >= rule.core))
    if not number:
        return np.zeros(inside.shape, np.int32)
    sizes = np.bincount(found.ravel(), minlength=number + 1)
    kept = np.flatnonzero(sizes >= rule.least_core)
    kept = kept[kept > 0]
    first = np.full(number + 1, found.size, np.int64)
    places = np.flatnonzero(found)
    first[found.ravel()[places[::-1]]] = places[::-1]
    renamed = np.zeros(number + 1, np.int32)
    renamed[kept[np.argsort(first[kept])]] = np.arange(1, len(kept) + 1)
    return _grow(renamed[found], within, rule.reach)


def _grow(cores: Labels, within: NDArray[np.bool_], reach: int) -> Labels:
    """Give free pixels `within` to the neighbouring object of the lowest number, `reach` times."""
    none = np.iinfo(np.int32).max
    framed = np.pad(np.where(cores > 0, cores, none), 1, constant_values=none)
    centre = framed[1:-1, 1:-1]
    height, width = cores.shape
    for _ in range(reach):
        free = within & (centre == none)
        if not free.any():
            break
        nearest = np.full(cores.shape, none, np.int32)
        for row, column in ((0, 1), (2, 1), (1, 0), (1, 2)):
            np.minimum(nearest, framed[row : row + height, column : column + width], out=nearest)
        centre[free] = nearest[free]
    return np.where(centre == none, 0, centre).astype(np.int32)
