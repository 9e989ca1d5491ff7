"""Sums over squares of an image in whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def box_sum(image: NDArray[np.int32], side: int) -> NDArray[np.int32]:
    """[height, width] the sum of the `side` x `side` px (odd) around each; edges repeat. The sum of a square must fit
    into 31 bits. Those of larger parts may pass them: what wraps around cancels exactly."""
    padded = np.pad(image, side // 2, mode="edge")
    integral = np.zeros((padded.shape[0] + 1, padded.shape[1] + 1), np.int32)
    np.cumsum(padded, axis=0, dtype=np.int32, out=integral[1:, 1:])
    np.cumsum(integral, axis=1, dtype=np.int32, out=integral)
    rows = integral[side:] - integral[:-side]
    return rows[:, side:] - rows[:, :-side]


def share_above_half(mask: NDArray[np.bool_], side: int) -> NDArray[np.bool_]:
    """[height, width] where the `side` x `side` px around are more than half `mask`."""
    return 2 * box_sum(mask.astype(np.int32), side) > side * side


def dilated(mask: NDArray[np.bool_], side: int) -> NDArray[np.bool_]:
    """[height, width] where the `side` x `side` px around hold any of `mask`."""
    return box_sum(mask.astype(np.int32), side) > 0
