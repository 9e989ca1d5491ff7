"""Sums over squares of an image in whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def box_sum(image: NDArray[np.int32], side: int) -> NDArray[np.int32]:
    """[height, width] the sum of the `side` x `side` px (odd) around each; edges repeat. The sum of a square must fit
    into 31 bits. Those of larger parts may pass them: what wraps around cancels exactly."""
    padded = np.pad(image, side // 2, mode="edge")
    height, width = padded.shape
    down = np.zeros((height + 1, width), np.int32)
    for row in range(height):  # numpy's cumsum along this axis goes column by column, in seven times the time.
        np.add(down[row], padded[row], out=down[row + 1])
    rows = down[side:] - down[:-side]
    across = np.zeros((len(rows), width + 1), np.int32)
    np.cumsum(rows, axis=1, dtype=np.int32, out=across[:, 1:])
    return across[:, side:] - across[:, :-side]


def share_above_half(mask: NDArray[np.bool_], side: int) -> NDArray[np.bool_]:
    """[height, width] where the `side` x `side` px around are more than half `mask`."""
    return 2 * box_sum(mask.astype(np.int32), side) > side * side


def dilated(mask: NDArray[np.bool_], side: int) -> NDArray[np.bool_]:
    """[height, width] where the `side` x `side` px around hold any of `mask`."""
    return box_sum(mask.astype(np.int32), side) > 0
