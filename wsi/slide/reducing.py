"""Pixels averaged over squares: how a tile is shrunk whose codec has no smaller picture of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wsi.slide.coding import Reduction
from wsi.slide.slide import RGB


def reduced(pixels: RGB, reduction: Reduction) -> RGB:
    """[ceil(height / reduction), ceil(width / reduction), 3]: the rounded mean of each square, cut at the edges."""
    if reduction == 1:
        return pixels
    height, width = pixels.shape[:2]
    rows: NDArray[np.intp] = np.arange(0, height, reduction)
    columns: NDArray[np.intp] = np.arange(0, width, reduction)
    sums = np.add.reduceat(np.add.reduceat(pixels, rows, axis=0, dtype=np.uint32), columns, axis=1)
    counts = np.outer(np.diff(rows, append=height), np.diff(columns, append=width))[..., None].astype(np.uint32)
    return ((sums + counts // 2) // counts).astype(np.uint8)
