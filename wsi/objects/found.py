"""The objects and parts that windows give, before it is decided what becomes of those that several windows see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from wsi.objects.packing import pack_objects, pack_parts, unpack_objects, unpack_parts
from wsi.objects.part_table import PartTable
from wsi.objects.table import ObjectTable


class Sight(IntEnum):
    """The windows that may see an object beside the one that gives it."""

    OWN = 0  #: no other window gives it or a part of it
    LONG = 1  #: other windows may give parts of it
    LARGE = 2  #: its own window does not hold it whole: others may give it too, or parts of it


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FoundObjects:
    """The objects and parts of one window, or of several by their tiles.

    Those of `OWN` and `LONG` are results; `join_parts` decides on the others.
    """

    table: ObjectTable  #: rows have the number of the tile that gave them, large ones too
    sights: NDArray[np.uint8]  #: [n] of `Sight`, one for each row
    parts: PartTable

    @staticmethod
    def make_empty(chances: int) -> FoundObjects:
        """Return the objects of no window, whose tables have so many chances."""
        none = np.zeros(0, np.uint8)
        return FoundObjects(table=ObjectTable.make_empty(chances), sights=none, parts=PartTable.make_empty(chances))

    @staticmethod
    def join(found: Sequence[FoundObjects]) -> FoundObjects:
        """Return all of these, ordered by tile whatever their order was. There is at least one."""
        table = ObjectTable.join([each.table for each in found])
        parts = PartTable.join([each.parts for each in found])
        order = np.argsort(table.tiles, kind="stable")
        return FoundObjects(
            table=table.select(order),
            sights=np.concatenate([each.sights for each in found])[order],
            parts=parts.select(np.argsort(parts.tiles, kind="stable")),
        )

    def pack(self) -> dict[str, NDArray[np.uint8]]:
        """Return arrays of bytes by name."""
        return {
            "objects": np.frombuffer(pack_objects(self.table), np.uint8),
            "sights": self.sights,
            "parts": np.frombuffer(pack_parts(self.parts), np.uint8),
        }

    @staticmethod
    def unpack(arrays: Mapping[str, NDArray[np.uint8]]) -> FoundObjects:
        """Return what `pack` was called on. Raises ValueError for other bytes."""
        return FoundObjects(
            table=unpack_objects(arrays["objects"].tobytes()),
            sights=arrays["sights"],
            parts=unpack_parts(arrays["parts"].tobytes()),
        )
