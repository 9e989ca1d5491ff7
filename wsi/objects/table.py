"""Objects as columns: the form in which they leave a worker and reach the writers.

Coordinates are those of the lattice: px of the network's input, counted from the slide's corner, the same for every
tile. Vertices are in halves of such a px, so that they are whole numbers and equal objects are equal bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int32]  #: [height, width], 0 outside of objects


@dataclass(frozen=True, kw_only=True, slots=True)
class PixelLattice:
    """The place of the network's px on the slide: px k spans level-0 px `k * step` to `(k + 1) * step`."""

    step_x: float  #: level-0 px a px of the network's input, across
    step_y: float  #: down
    mpp_x: float  #: um a level-0 px, across
    mpp_y: float  #: down


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ObjectTable:
    """Objects, a row each, ordered by tile, then by point from top to bottom and left to right.

    An object's pixels share sides, so that it has one outer ring; further rings are holes. Rings pass through the
    middles of pixels' sides, are not closed (the first vertex is not repeated), and have no vertex on a straight line.
    """

    tiles: NDArray[np.int32]  #: [n] number of the tile whose kept box holds the point
    points: NDArray[np.int32]  #: [n, 2] x, y of its topmost, then leftmost px
    areas: NDArray[np.int32]  #: [n] px
    centroids: NDArray[np.float64]  #: [n, 2] x, y, the mean of its px' middles
    classes: NDArray[np.uint8]  #: [n] index into the card's classes
    chances: NDArray[np.float32]  #: [n, 1 + classes with maps] means over its px: of an object, then of each class
    first_rings: NDArray[np.int32]  #: [n + 1] rings of object k are first_rings[k] to first_rings[k + 1]
    first_vertices: NDArray[np.int32]  #: [rings + 1] vertices of ring r are first_vertices[r] to first_vertices[r + 1]
    vertices: NDArray[np.int32]  #: [v, 2] x, y in half px

    def __len__(self) -> int:
        return len(self.tiles)

    @staticmethod
    def make_empty(chances: int = 1) -> ObjectTable:
        """Return a table without rows."""
        none = np.zeros(0, np.int32)
        return ObjectTable(
            tiles=none,
            points=np.zeros((0, 2), np.int32),
            areas=none,
            centroids=np.zeros((0, 2)),
            classes=np.zeros(0, np.uint8),
            chances=np.zeros((0, chances), np.float32),
            first_rings=np.zeros(1, np.int32),
            first_vertices=np.zeros(1, np.int32),
            vertices=np.zeros((0, 2), np.int32),
        )

    @staticmethod
    def join(tables: Sequence[ObjectTable]) -> ObjectTable:
        """Return the rows of all tables, one after the other. There is at least one table."""

        def stack(name: str) -> NDArray[np.generic]:
            return np.concatenate([getattr(table, name) for table in tables])

        def follow(name: str) -> NDArray[np.int32]:
            lasts = np.cumsum([0, *(getattr(table, name)[-1] for table in tables[:-1])])
            parts = [getattr(table, name)[1:] + last for table, last in zip(tables, lasts, strict=True)]
            return np.concatenate([np.zeros(1, np.int32), *parts]).astype(np.int32)

        plain = ("tiles", "points", "areas", "centroids", "classes", "chances", "vertices")
        columns = {name: stack(name) for name in plain}
        return ObjectTable(**columns, first_rings=follow("first_rings"), first_vertices=follow("first_vertices"))  # pyright: ignore[reportArgumentType]

    def select(self, rows: NDArray[np.intp]) -> ObjectTable:
        """Return the rows of these numbers, in this order."""
        rings = expand_ranges(self.first_rings, rows)
        places = expand_ranges(self.first_vertices, rings)
        return ObjectTable(
            tiles=self.tiles[rows],
            points=self.points[rows],
            areas=self.areas[rows],
            centroids=self.centroids[rows],
            classes=self.classes[rows],
            chances=self.chances[rows],
            first_rings=count_firsts(self.first_rings, rows),
            first_vertices=count_firsts(self.first_vertices, rings),
            vertices=self.vertices[places],
        )


def count_firsts(firsts: NDArray[np.integer], chosen: NDArray[np.intp]) -> NDArray[np.int32]:
    """Return where the parts of each chosen one begin, once they are one behind the other."""
    return np.concatenate([[0], np.cumsum(np.diff(firsts)[chosen])]).astype(np.int32)


def expand_ranges(firsts: NDArray[np.integer], chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the numbers of all parts of the chosen ones, in their order."""
    sizes = np.diff(firsts)[chosen]
    starts = np.repeat(firsts[:-1][chosen] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    return np.arange(int(sizes.sum())) + starts
