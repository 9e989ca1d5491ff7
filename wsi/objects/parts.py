"""Parts of objects that no window holds whole, as columns: they leave a worker beside the objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.objects.components import Labels, find_boxes, find_components
from wsi.objects.window import Window


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


def cut_parts(
    labels: Labels, chosen: NDArray[np.intp], maps: Sequence[NDArray[np.uint8]], window: Window, tile: int
) -> PartTable:
    """Return the parts of the chosen labels that have px in the window's kept box, of labels and maps over its trusted
    box."""
    trusted, kept = window.trusted, window.kept
    rows = slice(kept.top - trusted.top, kept.bottom - trusted.top)
    columns = slice(kept.left - trusted.left, kept.right - trusted.left)
    near = labels[rows.start : rows.stop + 1, columns.start : columns.stop + 1]
    chances = [map_[rows, columns] for map_ in maps]
    tables = [PartTable.make_empty(len(maps))]
    for label in chosen:
        #: What hangs together outside of the box alone is several parts, in case that nobody looks there.
        pieces, _ = find_components(near[:-1, :-1] == label)
        for number, box in enumerate(find_boxes(pieces), 1):
            own = pieces[box] == number
            bits = _add_beside(own, near == label, box)
            packed = np.packbits(bits)
            left, top = kept.left + box[1].start, kept.top + box[0].start
            tables.append(
                PartTable(
                    tiles=np.array([tile], np.int32),
                    boxes=np.array([[left, top, left + bits.shape[1], top + bits.shape[0]]], np.int32),
                    areas=np.array([np.count_nonzero(own)], np.int32),
                    sums=np.array([[int(map_[box][own].sum(dtype=np.int64)) for map_ in chances]], np.int64),
                    first_bytes=np.array([0, len(packed)], np.int64),
                    bits=packed,
                )
            )
    return PartTable.join(tables)


def _add_beside(own: NDArray[np.bool_], same: NDArray[np.bool_], box: tuple[slice, slice]) -> NDArray[np.bool_]:
    """Return the part's px in its box and, if that ends where the kept box does, in the column or row after it: those
    of the same object beside or below a px of the part. `same` is of the kept box and a column and a row more."""
    height, width = own.shape
    ends = [side.stop == size - 1 for side, size in zip(box, same.shape, strict=True)]
    bits = np.zeros((height + ends[0], width + ends[1]), np.bool_)
    bits[:height, :width] = own
    if ends[0]:
        bits[-1, :width] = own[-1] & same[-1, box[1]]
    if ends[1]:
        bits[:height, -1] = own[:, -1] & same[box[0], -1]
    return bits
