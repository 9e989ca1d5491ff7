"""Shrinking patches to a model's size with the filter that models were trained with: PIL's BILINEAR, a triangle that
widens with the factor (antialiasing)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def antialias_weights(source: int, target: int) -> NDArray[np.float32]:
    """[target, source], rows sum to 1: how much each source pixel gives to each target pixel along one side."""
    factor = source / target
    reach = max(factor, 1.0)  # px on each side; enlarging keeps the plain triangle.
    centres = (np.arange(target) + 0.5) * factor
    distances = np.abs(np.arange(source) + 0.5 - centres[:, None]) / reach
    weights = np.clip(1 - distances, 0, None)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def resize(batch: NDArray[np.uint8], target: int) -> NDArray[np.float32]:
    """[n, side, side, 3] uint8 to [n, target, target, 3] float32 in 0..255. An item's result does not depend on what
    else is in the batch: each is a matrix product of its own."""
    count, side = batch.shape[:2]
    pixels = batch.astype(np.float32)
    if side == target:
        return pixels
    weights = antialias_weights(side, target)
    rows = (weights @ pixels.reshape(count, side, side * 3)).reshape(count, target, side, 3)
    columns = (weights @ rows.transpose(0, 2, 1, 3).reshape(count, side, target * 3)).reshape(count, target, target, 3)
    return np.ascontiguousarray(columns.transpose(0, 2, 1, 3), dtype=np.float32)
