"""The order of tiles along a space-filling curve, so that objects near each other are near each other in a file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def order_tiles_in_space(corners: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the numbers of tiles, [n], in the order in which Hilbert's curve passes their corners, [n, 2] x, y in
    level-0 px, which lie on a grid. Corners at one place stay in their order."""
    column, row = (_count_steps(axis) for axis in corners.T)
    return np.argsort(measure_curve(column, row), kind="stable")


def measure_curve(column: NDArray[np.int64], row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how far along Hilbert's curve each place lies (D. Hilbert, Math. Annalen 38, 1891). Columns and rows count
    from 0; the curve fills the smallest square of a power of two that holds them all."""
    x, y = column.copy(), row.copy()
    distance = np.zeros_like(x)
    largest = int(max(x.max(initial=0), y.max(initial=0)))
    for bit in reversed(range(largest.bit_length())):
        right, low = x >> bit & 1, y >> bit & 1
        distance += (3 * right ^ low) << (2 * bit)
        # The quarter is turned so that its own curve begins where the one before it ended.
        x, y = x & ((1 << bit) - 1), y & ((1 << bit) - 1)
        flip = (low == 0) & (right == 1)
        x, y = np.where(flip, (1 << bit) - 1 - x, x), np.where(flip, (1 << bit) - 1 - y, y)
        x, y = np.where(low == 0, y, x), np.where(low == 0, x, y)
    return distance


def _count_steps(axis: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the grid's column of each corner, from 0 for the first one that has a tile."""
    values = np.unique(axis)
    step = int(np.diff(values).min()) if len(values) > 1 else 1
    return (axis.astype(np.int64) - (int(values[0]) if len(values) else 0)) // step
