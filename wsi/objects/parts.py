"""Cuts the parts of objects that no window holds whole out of a window's labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wsi.objects.components import find_boxes, find_components
from wsi.objects.part_table import PartTable
from wsi.objects.table import Labels
from wsi.objects.window import Window


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
