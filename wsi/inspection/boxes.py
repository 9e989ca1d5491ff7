"""Sums over squares of an image, in whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def compute_box_sums(image: NDArray[np.int32], side: int) -> NDArray[np.int32]:
    """Return the sum of the `side` x `side` px (odd) around each pixel, [height, width]; edges repeat. The sum of a
    square must fit into 31 bits. Sums of larger parts may exceed them: overflow cancels exactly."""
    padded = np.pad(image, side // 2, mode="edge")
    height, width = padded.shape
    down = np.zeros((height + 1, width), np.int32)
    for row in range(height):  # numpy's cumsum along this axis goes column by column, in seven times the time.
        np.add(down[row], padded[row], out=down[row + 1])
    rows = down[side:] - down[:-side]
    across = np.zeros((len(rows), width + 1), np.int32)
    np.cumsum(rows, axis=1, dtype=np.int32, out=across[:, 1:])
    return across[:, side:] - across[:, :-side]


def filter_majority(mask: NDArray[np.bool_], side: int) -> NDArray[np.bool_]:
    """Return where more than half of the `side` x `side` px around are in `mask`, [height, width]."""
    return 2 * compute_box_sums(mask.astype(np.int32), side) > side * side


def dilate(mask: NDArray[np.bool_], side: int) -> NDArray[np.bool_]:
    """Return where any of the `side` x `side` px around are in `mask`, [height, width]."""
    return compute_box_sums(mask.astype(np.int32), side) > 0
