"""Finds which traced objects contain px."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.objects.table import ObjectTable


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Shapes:
    """Objects with their boxes."""

    table: ObjectTable
    lefts_tops: NDArray[np.int32]  #: [n, 2] half px
    rights_bottoms: NDArray[np.int32]  #: [n, 2] half px

    @staticmethod
    def of(table: ObjectTable) -> Shapes:
        if not len(table):
            none = np.zeros((0, 2), np.int32)
            return Shapes(table=table, lefts_tops=none, rights_bottoms=none)
        firsts = table.first_vertices[table.first_rings[:-1]]
        return Shapes(
            table=table,
            lefts_tops=np.minimum.reduceat(table.vertices, firsts),
            rights_bottoms=np.maximum.reduceat(table.vertices, firsts),
        )

    def find_containing(self, points: NDArray[np.int32]) -> Iterator[NDArray[np.bool_]]:
        """Yield of each object near the px [n, 2] which of them it contains."""
        middles = 2 * points + 1
        near = (self.lefts_tops <= middles.max(axis=0)).all(1) & (self.rights_bottoms >= middles.min(axis=0)).all(1)
        for row in np.flatnonzero(near):
            yield self._contain(int(row), middles)

    def _contain(self, row: int, middles: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return of each middle whether the object contains it: an odd number of its lines is to the left."""
        table = self.table
        held = np.zeros(len(middles), np.bool_)
        for ring in range(table.first_rings[row], table.first_rings[row + 1]):
            begins = table.vertices[table.first_vertices[ring] : table.first_vertices[ring + 1]].astype(np.int64)
            ends = np.roll(begins, -1, axis=0)
            x, y = middles[:, :1].astype(np.int64), middles[:, 1:].astype(np.int64)
            crosses = (begins[:, 1] <= y) != (ends[:, 1] <= y)
            run, rise = (ends - begins).T
            #: Whether the line at the height of the middle is further left, without a division.
            is_left = (begins[:, 0] - x) * np.abs(rise) + (y - begins[:, 1]) * run * np.sign(rise) < 0
            held ^= (crosses & is_left).sum(axis=1) % 2 == 1
        return held
