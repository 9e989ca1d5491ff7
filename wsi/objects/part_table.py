"""Parts of objects that no window holds whole, as columns: they leave a worker beside the objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.objects.table import count_firsts, expand_ranges


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PartTable:
    """Parts of objects, a row each. The pixels of a part lie in the kept box of its tile and share sides. Those in the
    column or row after that box are not its own: they tell which part of the next tile is of the same object."""

    tiles: NDArray[np.int32]  #: [n]
    boxes: NDArray[np.int32]  #: [n, 4] left, top, right, bottom; right and bottom are beyond the last px
    areas: NDArray[np.int32]  #: [n] px within the kept box
    sums: NDArray[np.int64]  #: [n, maps without the depth] in parts of 255, over the px within the kept box
    first_bytes: NDArray[np.int64]  #: [n + 1] bits of part k are bits[first_bytes[k] : first_bytes[k + 1]]
    bits: NDArray[np.uint8]  #: [b] eight px a byte, those of the box row by row

    def __len__(self) -> int:
        return len(self.tiles)

    def unpack(self, row: int) -> NDArray[np.bool_]:
        """Return [height, width], the px of the part within its box."""
        left, top, right, bottom = map(int, self.boxes[row])
        bits = self.bits[self.first_bytes[row] : self.first_bytes[row + 1]]
        flat = np.unpackbits(bits, count=(right - left) * (bottom - top))
        return flat.view(np.bool_).reshape(bottom - top, right - left)

    @staticmethod
    def make_empty(chances: int = 1) -> PartTable:
        """Return a table without rows."""
        return PartTable(
            tiles=np.zeros(0, np.int32),
            boxes=np.zeros((0, 4), np.int32),
            areas=np.zeros(0, np.int32),
            sums=np.zeros((0, chances), np.int64),
            first_bytes=np.zeros(1, np.int64),
            bits=np.zeros(0, np.uint8),
        )

    @staticmethod
    def join(tables: Sequence[PartTable]) -> PartTable:
        """Return the rows of all tables, one after the other. There is at least one table."""
        sizes = np.concatenate([np.diff(table.first_bytes) for table in tables])
        return PartTable(
            tiles=np.concatenate([table.tiles for table in tables]),
            boxes=np.concatenate([table.boxes for table in tables]),
            areas=np.concatenate([table.areas for table in tables]),
            sums=np.concatenate([table.sums for table in tables]),
            first_bytes=np.concatenate([[0], np.cumsum(sizes)]),
            bits=np.concatenate([table.bits for table in tables]),
        )

    def select(self, rows: NDArray[np.intp]) -> PartTable:
        """Return the rows of these numbers, in this order."""
        return PartTable(
            tiles=self.tiles[rows],
            boxes=self.boxes[rows],
            areas=self.areas[rows],
            sums=self.sums[rows],
            first_bytes=count_firsts(self.first_bytes, rows).astype(np.int64),
            bits=self.bits[expand_ranges(self.first_bytes, rows)],
        )
