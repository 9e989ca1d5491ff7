"""Averages of pixels over squares, for tiles whose codec has no smaller image of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wsi.slide.coding import Reduction
from wsi.slide.slide import RGB


def reduce_pixels(pixels: RGB, reduction: Reduction) -> RGB:
    """Return [ceil(height / reduction), ceil(width / reduction), 3]: the rounded mean of each square, cut at the
    edges."""
    if reduction == 1:
        return pixels
    height, width = pixels.shape[:2]
    if height % reduction == 0 and width % reduction == 0:
        return _whole_squares(pixels, reduction)
    row_starts, column_starts = _starts(height, reduction), _starts(width, reduction)
    sums = np.add.reduceat(np.add.reduceat(pixels, row_starts, axis=0, dtype=np.uint32), column_starts, axis=1)
    counts = np.outer(np.diff(row_starts, append=height), np.diff(column_starts, append=width)).astype(np.uint32)
    return ((sums + counts[..., None] // 2) // counts[..., None]).astype(np.uint8)


def _whole_squares(pixels: RGB, reduction: Reduction) -> RGB:
    """Return the same where no square is cut, in a tenth of the time. 64 samples of 255 fit into 16 bits."""
    rows = pixels[::reduction].astype(np.uint16)
    for step in range(1, reduction):
        rows += pixels[step::reduction]
    sums = rows[:, ::reduction].copy()
    for step in range(1, reduction):
        sums += rows[:, step::reduction]
    squares = reduction * reduction
    return ((sums + squares // 2) // squares).astype(np.uint8)


def _starts(size: int, step: int) -> NDArray[np.intp]:
    return np.arange(0, size, step).astype(np.intp)
