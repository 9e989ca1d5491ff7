"""Tissue detection on an overview: optical density against the slide's own glass.

Saturation masks lose grey stains and call almost-white tiles tissue; a bare Otsu threshold finds tissue on an empty
slide. Density against the glass of the same slide, with Otsu's threshold kept between two bounds, gives 0 on blank
glass and the same answer for a slide and its grey copy. Holes stay holes. Pen marks (`wsi.inspection.pen`) and areas
that were never scanned are removed. All of it is integer arithmetic, so that every machine and thread count makes the
same mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.inspection import pen
from wsi.inspection.boxes import compute_box_sums, dilate
from wsi.inspection.channels import compute_channel_max, compute_channel_min
from wsi.numerics import TISSUE_VERSION
from wsi.slide.slide import RGB

LOWEST, HIGHEST = 0.05, 0.15  #: natural-log density; bounds of the threshold
BLACK = 8  #: grey value; no light at all: what a scanner or a converter fills in where it has not looked
BORDER = 5  #: px, side of the square around black that is not looked at: there black and glass are averaged
WHITE = 255  #: grey value of all channels; what stands in where there is no picture, as long as real glass is seen too
FLAT = 3  #: grey values; glass differs by no more from its surroundings, grey tissue does
BLUR = 5  #: px, side of the box mean: above the grain of the sensor, below any structure of interest
BRIGHT_SHARE = 80  #: percentile of brightness from which pixels count as glass
NEUTRAL: Final = 0.85  #: glass is grey: a channel darker than this share of the brightest one shows stain
LEAST_GLASS = 200  #: grey value; flat places below it are no glass
GLASS_SHARE = 0.05  #: of what is neither black nor pure white; less of it is no glass

#: How tissue was found, as results record it.
SETTINGS = MappingProxyType(
    {
        "version": TISSUE_VERSION,
        "method": "density against glass, Otsu",
        "lowest": LOWEST,
        "highest": HIGHEST,
        "blur_px": BLUR,
        "black": BLACK,
        **pen.SETTINGS,
    }
)
_BINS = 256


@dataclass(frozen=True, slots=True)
class Tissue:
    mask: NDArray[np.bool_]  #: [height, width]
    pen: NDArray[np.bool_]  #: [height, width] dense, and taken out of `mask`
    stained_like_pen: bool  #: most of the tissue has a pen's colour: a stain, so that nothing was taken out


def measure_glass_colour(pixels: RGB) -> NDArray[np.uint8]:
    """Return the median colour, [3], of the brightest pixels, made neutral where they are stained (a view without
    glass)."""
    flat = pixels[~find_padding(pixels)]
    if not len(flat):
        return np.full(3, 255, np.uint8)
    brightness = compute_channel_max(flat)
    bright = flat[brightness >= np.percentile(brightness, BRIGHT_SHARE)]
    colour: NDArray[np.float64] = np.median(bright, axis=0).clip(1, 255)
    colour[colour < NEUTRAL * colour.max()] = colour.max()
    return colour.astype(np.uint8)


def find_padding(pixels: RGB) -> NDArray[np.bool_]:
    """Return the mask of padding, [height, width], which is neither glass nor tissue. Black is padding. Pure white is
    too if flat and slightly darker glass shows the look of glass on this slide."""
    brightest, darkest = compute_channel_max(pixels), compute_channel_min(pixels)
    black = brightest < BLACK
    if pixels.ndim == 3 and black.any():
        black = dilate(black, BORDER)
    white = darkest == WHITE
    if pixels.ndim < 3 or not white.any():
        return black
    around = compute_box_sums(darkest.astype(np.int32), BLUR)
    flat = np.abs(around - BLUR * BLUR * darkest.astype(np.int32)) <= FLAT * BLUR * BLUR
    glass = flat & ~white & (darkest >= LEAST_GLASS) & (brightest < WHITE)
    return black | white if glass.sum() > GLASS_SHARE * (~white & ~black).sum() else black


def find_tissue(pixels: RGB, mpp: float | None = None) -> Tissue:
    """Find tissue and pen marks on an overview [height, width, 3] of `mpp` microns a pixel, a few or more (None:
    unknown)."""
    nothing = find_padding(pixels)
    density = pen.compute_density(pixels, measure_glass_colour(pixels))
    density[nothing] = 0
    smooth = compute_box_sums(compute_channel_max(density).astype(np.int32), BLUR)
    scale = BLUR * BLUR * pen.UNIT
    threshold = np.clip(_otsu(smooth[::2, ::2]), round(LOWEST * scale), round(HIGHEST * scale))
    dense = (smooth > threshold) & ~nothing
    marks = pen.find_marks(density, pixels, mpp) & dense
    if 2 * marks.sum() > dense.sum():
        return Tissue(dense, np.zeros_like(marks), stained_like_pen=True)
    return Tissue(dense & ~marks, marks, stained_like_pen=False)


def find_tissue_mask(pixels: RGB) -> NDArray[np.bool_]:
    """Return the mask of tissue, [height, width]."""
    return find_tissue(pixels).mask


def _otsu(values: NDArray[np.int32]) -> int:
    """Return the threshold between two classes with the largest variance between them. N. Otsu, IEEE SMC 9(1), 1979."""
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
