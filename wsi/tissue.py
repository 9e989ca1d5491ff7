"""Where tissue lies on an overview: optical density against the slide's own glass.

Saturation masks lose grey stains and call almost-white tiles tissue; a bare Otsu threshold finds tissue on an empty
slide. Density against the glass of the same slide, with Otsu's threshold kept between two bounds, gives 0 on blank
glass and the same answer for a slide and its grey copy. All of it is integer arithmetic, so that every machine and
every thread count makes the same mask.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.slide.slide import RGB

LOWEST, HIGHEST = 0.05, 0.15  #: natural-log density; bounds of the threshold
BLACK = 8  #: grey value; no light at all: what a scanner or a converter fills in where it has not looked
BLUR = 5  #: px, side of the box mean: above the grain of the sensor, below any structure of interest
BRIGHT_SHARE = 80  #: percentile of brightness from which pixels count as glass
NEUTRAL: Final = 0.85  #: glass is grey: a channel darker than this share of the brightest one shows stain

_UNIT = 10_000  #: density is kept as whole ten-thousandths
_BINS = 256


def glass_colour(pixels: RGB) -> NDArray[np.uint8]:
    """[3] the median colour of the brightest pixels, made neutral where they are stained (a view without glass)."""
    flat = pixels[~unseen(pixels)]
    if not len(flat):
        return np.full(3, 255, np.uint8)
    brightness = flat.max(axis=1)
    bright = flat[brightness >= np.percentile(brightness, BRIGHT_SHARE)]
    colour: NDArray[np.float64] = np.median(bright, axis=0).clip(1, 255)
    colour[colour < NEUTRAL * colour.max()] = colour.max()
    return colour.astype(np.uint8)


def unseen(pixels: RGB) -> NDArray[np.bool_]:
    """[height, width] black padding: neither glass nor tissue."""
    return pixels.max(axis=-1) < BLACK


def tissue_mask(pixels: RGB) -> NDArray[np.bool_]:
    """[height, width] for an overview of [height, width, 3] at a few microns a pixel or more."""
    density = _box_sum(np.where(unseen(pixels), 0, _density(pixels, glass_colour(pixels))))
    scale = BLUR * BLUR * _UNIT
    threshold = np.clip(_otsu(density[::2, ::2]), round(LOWEST * scale), round(HIGHEST * scale))
    return density > threshold


def _density(pixels: RGB, glass: NDArray[np.uint8]) -> NDArray[np.int32]:
    """[height, width] -ln(pixel / glass) of the densest channel, at least 0, in units of 1 / _UNIT."""
    values = np.arange(256)
    table = np.log((glass.astype(np.float64) + 1)[:, None] / (values + 1))  # [3, 256]
    table = np.round(table.clip(0) * _UNIT).astype(np.int32)
    return np.maximum.reduce([table[channel][pixels[..., channel]] for channel in range(3)])


def _box_sum(image: NDArray[np.int32]) -> NDArray[np.int64]:
    """[height, width] the sum of the BLUR x BLUR px around each; edges repeat."""
    total = np.pad(image.astype(np.int64), BLUR // 2, mode="edge")
    for axis in (0, 1):
        sums = np.cumsum(total, axis=axis)
        sums = np.concatenate((np.zeros_like(sums.take([0], axis=axis)), sums), axis=axis)
        size = sums.shape[axis]
        total = sums.take(range(BLUR, size), axis=axis) - sums.take(range(size - BLUR), axis=axis)
    return total


def _otsu(values: NDArray[np.int64]) -> int:
    """The threshold between two classes with the largest variance between them. N. Otsu, IEEE SMC 9(1), 1979."""
    low, high = int(values.min()), int(values.max())
    if low == high:
        return high
    width = -(-(high - low + 1) // _BINS)
    counts = np.bincount(((values - low) // width).ravel(), minlength=_BINS).astype(np.float64)
    centres = low + width * (np.arange(_BINS) + 0.5)
    below, above = np.cumsum(counts), np.cumsum(counts[::-1])[::-1]
    mean_below = np.cumsum(counts * centres) / np.maximum(below, 1)
    mean_above = np.cumsum((counts * centres)[::-1])[::-1] / np.maximum(above, 1)
    between = below[:-1] * above[1:] * (mean_below[:-1] - mean_above[1:]) ** 2
    return int(centres[int(between.argmax())])
