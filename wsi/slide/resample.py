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
    """[n, height, width, 3] uint8 to [n, target, target, 3] float32 in 0..255, each axis by its own factor. An item's
    result does not depend on what else is in the batch: each is a matrix product of its own."""
    return _rows(_rows(batch.astype(np.float32), target).transpose(0, 2, 1, 3), target).transpose(0, 2, 1, 3)


def _rows(pixels: NDArray[np.float32], target: int) -> NDArray[np.float32]:
    """[n, rows, columns, 3] to [n, target, columns, 3]."""
    count, rows, columns = pixels.shape[:3]
    if rows == target:
        return pixels
    products = antialias_weights(rows, target) @ pixels.reshape(count, rows, columns * 3)
    return products.reshape(count, target, columns, 3)
