"""Pen marks on the glass: colours that no common stain has.

Told in optical density, where a colour's direction is the dye and its length the amount. Haematoxylin takes away red
and green alike (0.65 : 0.70), eosin and DAB take more green than red; blue, green and turquoise ink take far more red
than green. On real pictures 7 % of all pixels, those under a green pen, and at most 0.003 % of H&E or DAB with
haematoxylin have red above 1.4 times green (0.4 % where margins are inked). Red ink takes green and blue alike and
next to no red; black ink takes all alike and nearly everything, on a slide that otherwise has colours. Navy ink cannot
be told from haematoxylin.

A stroke is wide: specks of such colours, margin ink among them, stay.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.inspection.boxes import dilate, filter_majority
from wsi.inspection.channels import compute_channel_max, compute_channel_min
from wsi.slide.slide import RGB

UNIT: Final = 10_000  #: density is kept as whole ten-thousandths of the natural logarithm

#: Ink: red over green, in hundredths, and the least density of red.
COOL_RATIO, COOL_DENSITY = 140, 0.40
#: Beside ink: where it fades, and what lies under it.
FADED_RATIO, FADED_DENSITY = 105, 0.15
#: Red ink: blue at least and red at most so many hundredths of green, and the least density of green.
RED_BLUE, RED_RED, RED_DENSITY = 75, 25, 0.70
#: Black ink: grey values; the brightest channel at most, and the channels apart at most; or the brightest one alone.
BLACK_MOST, BLACK_APART, PITCH = 64, 12, 32
#: Grey values; the channels of a coloured slide are apart by more, at the median of what is stained.
COLOURED = 10
STROKE_UM, STROKE_PX = 90, 9  #: side of a square of which a stroke fills more than half; at least so many px
FADE_STEPS = 8  #: steps that fading ink may reach away from a stroke, each of half that square's side

SETTINGS = MappingProxyType(
    {
        "pen_cool_ratio": COOL_RATIO / 100,
        "pen_cool_density": COOL_DENSITY,
        "pen_faded_ratio": FADED_RATIO / 100,
        "pen_red_density": RED_DENSITY,
        "pen_black_most": BLACK_MOST,
        "pen_stroke_um": STROKE_UM,
    }
)


def compute_density(pixels: RGB, glass: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """Return -ln(pixel / glass), [height, width, 3], at least 0, in units of 1 / UNIT."""
    values = np.arange(256)
    table = np.log((glass.astype(np.float64) + 1)[:, None] / (values + 1))  # [3, 256]
    table = np.round(table.clip(0) * UNIT).astype(np.uint16)
    return np.stack([table[channel][pixels[..., channel]] for channel in range(3)], axis=-1)


def find_marks(dense: NDArray[np.uint16], pixels: RGB, mpp: float | None) -> NDArray[np.bool_]:
    """Return the mask of ink, [height, width], from `compute_density` and the pixels that it was computed from, at
    `mpp` microns a pixel (None: unknown, and a stroke is STROKE_PX)."""
    stroke = max(STROKE_PX, 2 * round(STROKE_UM / mpp / 2) + 1) if mpp else STROKE_PX
    red, green, blue = (dense[..., channel].astype(np.int32) for channel in range(3))
    ink = _grow_ink(_strokes(_beyond(red, green, COOL_RATIO, COOL_DENSITY), stroke), red, green, stroke)
    ink |= _strokes(
        (green >= RED_DENSITY * UNIT) & (100 * blue >= RED_BLUE * green) & (100 * red <= RED_RED * green), stroke
    )
    brightest = compute_channel_max(pixels)
    apart = brightest - compute_channel_min(pixels)
    stained = np.maximum(red, green) >= FADED_DENSITY * UNIT
    if stained.any() and np.median(apart[stained]) > COLOURED:
        ink |= _strokes((brightest <= np.where(apart <= BLACK_APART, BLACK_MOST, PITCH)) & (green > 0), stroke)
    return ink | filter_majority(ink, STROKE_PX) if ink.any() else ink


def _beyond(red: NDArray[np.int32], green: NDArray[np.int32], ratio: int, least: float) -> NDArray[np.bool_]:
    return (red >= round(least * UNIT)) & (100 * red >= ratio * green)


def _strokes(ink: NDArray[np.bool_], side: int) -> NDArray[np.bool_]:
    return ink & filter_majority(ink, side) if ink.any() else ink


def _grow_ink(
    ink: NDArray[np.bool_], red: NDArray[np.int32], green: NDArray[np.int32], stroke: int
) -> NDArray[np.bool_]:
    """Return `ink` grown, in at most `FADE_STEPS` steps, over pixels next to it that have a little of its colour."""
    if not ink.any():
        return ink
    near = _beyond(red, green, FADED_RATIO, FADED_DENSITY)
    near &= filter_majority(near, STROKE_PX)
    for _ in range(FADE_STEPS):
        grown = ink | (near & dilate(ink, stroke))
        if grown.sum() == ink.sum():
            break
        ink = grown
    return ink
