"""The rings of objects in level-0 px, as every file has them."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wsi.objects.table import ObjectTable, PixelLattice

#: Parts of a level-0 px that coordinates are rounded to. QuPath rounds what it imports to the same (its
#: GeometryTools, PrecisionModel(-0.01)), so that it shows these coordinates and no others.
PARTS: Final = 100


class ClosedRings(NamedTuple):
    """The vertices of all rings, each ring's first one again at its end."""

    places: NDArray[np.intp]  #: [p] into the table's vertices
    first_places: NDArray[np.intp]  #: [rings + 1] places of ring r are first_places[r] to first_places[r + 1]


def close_rings(table: ObjectTable) -> ClosedRings:
    """Return the table's rings, closed."""
    sizes = np.diff(table.first_vertices).astype(np.intp)
    first_places = np.concatenate([[0], np.cumsum(sizes + 1)]).astype(np.intp)
    places = np.arange(int(first_places[-1])) - np.repeat(np.arange(len(sizes)), sizes + 1)
    places[first_places[1:] - 1] = table.first_vertices[:-1]
    return ClosedRings(places, first_places)


def place_vertices(table: ObjectTable, lattice: PixelLattice) -> NDArray[np.int64]:
    """Return the vertices, [v, 2] x, y in PARTS of a level-0 px."""
    return place_halves(table.vertices, (lattice.step_x, lattice.step_y))


def place_halves(halves: NDArray[np.integer], step: float | tuple[float, ...]) -> NDArray[np.int64]:
    """Return coordinates in half px of the lattice in PARTS of a level-0 px, for a px of `step` level-0 px."""
    return np.rint(halves * (np.asarray(step) * (PARTS / 2))).astype(np.int64)


def find_boxes(table: ObjectTable) -> NDArray[np.int32]:
    """Return the box around each object, [n, 4] left, top, right, bottom in half px of the lattice."""
    if not len(table):
        return np.zeros((0, 4), np.int32)
    # Holes lie within, so that all rings of an object may be seen as one.
    firsts = table.first_vertices[table.first_rings[:-1]]
    low, high = (bound.reduceat(table.vertices, firsts, axis=0) for bound in (np.minimum, np.maximum))
    return np.concatenate([low, high], axis=1)
