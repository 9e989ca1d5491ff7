"""Measures of how a tile looks, whatever the model says of it: sharpness, glass, ink, colour. They serve to sort tiles
out, not as scores.

They are computed from a lattice of about `SAMPLES` x `SAMPLES` px of the decoded tile, so that they cost little next to
any model, and in whole numbers up to one last division, so that every machine, device, batch and thread count gives the
same bytes. Values can be compared between tiles of one level. Pixels past the slide's edge count with the colour that
fills them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wsi.inspection import pen

SAMPLES: Final = 20  #: px of the lattice a side; up to three times as many, as its step is an odd number of px
#: Grey value; the glass of a lit slide lies above in all channels (`wsi.inspection.examination.GLASS` is lower).
WHITE: Final = 220
QUALITY_VERSION: Final = 1  #: raised when a rule changes a single value
MOSTLY: Final = 0.5  #: white_fraction from which a tile is mostly glass
WITH_PEN: Final = 0.05  #: pen_fraction from which a tile counts as marked; below it lies noise of the camera
COLUMNS: Final = ("blur", "white_fraction", "pen_fraction", "saturation")
SUMS: Final = ("bend", "squared bend", "white", "ink", "saturation")  #: over the lattice, of which COLUMNS are made


@dataclass(frozen=True, eq=False, slots=True)
class Lattice:
    """The places in a tile's bytes that are measured."""

    #: [7, samples] of a pixel's red, green and blue, and of the green above, below, left and right of it. The tile's
    #: outermost pixels lack a neighbour: they stand for all of theirs, and so bend nothing.
    places: NDArray[np.int64]
    bends: int  #: samples that have all neighbours

    @property
    def samples(self) -> int:
        return self.places.shape[1]


class Tables(NamedTuple):
    """[65536] rules of two channels, looked up by 256 x the first + the second. A pixel is ink where `ink` reaches
    `enough`."""

    saturation: NDArray[np.uint8]  #: by brightest, darkest: 255 x (brightest - darkest) / brightest, rounded down
    ink: NDArray[np.uint8]  #: by red, green: 2, a blue, green or turquoise ink; 1, red ink if blue agrees; 0, none
    enough: NDArray[np.uint8]  #: by green, blue: 1 where blue agrees with red ink, else 2


def measure(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Compute the COLUMNS, [n, 4], of RGB tiles [n, height, width, 3].

    blur: variance of the 4-neighbour Laplacian (a pixel's neighbours - 4 x the pixel) of the green channel, in squared
    grey values; low is blurred or empty. Green, since stains and a camera's filter both leave most detail in it.
    The measure: J. Pech-Pacheco et al., Diatom autofocusing in brightfield microscopy, ICPR 2000.
    white_fraction: share of pixels with all channels at or above WHITE: glass.
    pen_fraction: share of pixels in a colour of ink (`wsi.inspection.pen`: blue, green, turquoise, red) against white
    glass. Black and navy ink look like pigment and haematoxylin and are not told from them; nor is a stroke's width.
    saturation: mean of (brightest - darkest) / brightest channel, 0..1, as S in HSV.
    """
    found = make_lattice(*pixels.shape[1:3])
    return compute_columns(_sums(pixels, found), found)


def compute_columns(sums: NDArray[np.int64], over: Lattice) -> NDArray[np.float32]:
    """Return the COLUMNS, [n, 4], from the SUMS over the lattice, [n, 5], whatever device added them up."""
    bend, squares, white, ink, saturation = sums.T
    samples, bends = over.samples, over.bends or 1
    columns = (
        (squares * bends - bend * bend) / bends**2,
        white / samples,
        ink / samples,
        saturation / (255 * samples),
    )
    return np.stack(columns, axis=1).astype(np.float32)


def make_unmeasured(count: int = 0) -> NDArray[np.float32]:
    """Return NaN, [count, 4], for tiles that an older worker computed."""
    return np.full((count, len(COLUMNS)), np.nan, np.float32)


@lru_cache(maxsize=16)
def make_lattice(height: int, width: int) -> Lattice:
    """Return the lattice of tiles of `height` x `width` px."""
    y, x = (axis.ravel() for axis in np.meshgrid(_steps(height), _steps(width), indexing="ij"))
    whole = (y > 0) & (y < height - 1) & (x > 0) & (x < width - 1)
    red = 3 * (y * width + x)
    green = red + 1
    around = [green + 3 * whole * step for step in (-width, width, -1, 1)]
    return Lattice(np.stack([red, green, red + 2, *around]), int(whole.sum()))


@cache
def make_tables() -> Tables:
    first, second = (axis.ravel() for axis in np.mgrid[:256, :256].astype(np.int32))
    saturation = 255 * np.maximum(first - second, 0) // np.maximum(first, 1)
    grey = np.arange(256, dtype=np.uint8)
    dense = pen.compute_density(np.stack([grey] * 3, axis=-1)[None], np.full(3, 255, np.uint8))[0, :, 0].astype(
        np.int32
    )
    one, other = dense[first], dense[second]
    cool = (one >= pen.COOL_DENSITY * pen.UNIT) & (100 * one >= pen.COOL_RATIO * other)
    may_be_red = (other >= pen.RED_DENSITY * pen.UNIT) & (100 * one <= pen.RED_RED * other)
    red = 100 * other >= pen.RED_BLUE * one
    return Tables(
        saturation=saturation.astype(np.uint8),
        ink=np.where(cool, 2, may_be_red).astype(np.uint8),
        enough=np.where(red, 1, 2).astype(np.uint8),
    )


def _steps(side: int) -> NDArray[np.int64]:
    """Return places along one axis, in the middle of equal steps. Steps are odd, so that they meet every place in a
    JPEG's blocks of 8."""
    step = max(1, (side // SAMPLES - 1) | 1)
    return np.arange(step // 2, side, step)


def _sums(pixels: NDArray[np.uint8], over: Lattice) -> NDArray[np.int64]:
    """Return the SUMS, [n, 5], of tiles [n, height, width, 3]."""
    rules = make_tables()
    # Every place is within the tile. In mode "wrap" numpy does not look whether it is, which takes a third of the time.
    seen = pixels.reshape(len(pixels), prod(pixels.shape[1:])).take(over.places, axis=1, mode="wrap")
    red, green, blue = (seen[:, channel] for channel in range(3))
    bend = green.astype(np.int16)
    bend *= -4
    for neighbour in range(3, 7):
        bend += seen[:, neighbour]
    bend = bend.astype(np.int32)
    darkest = np.minimum(np.minimum(red, green), blue)
    brightest = np.maximum(np.maximum(red, green), blue)
    ink = _look_up(rules.ink, red, green) >= _look_up(rules.enough, green, blue)
    saturation = _look_up(rules.saturation, brightest, darkest)
    return np.stack(
        [
            bend.sum(axis=1, dtype=np.int64),
            (bend * bend).sum(axis=1, dtype=np.int64),  # at most 1020 squared each
            np.count_nonzero(darkest >= WHITE, axis=1),
            np.count_nonzero(ink, axis=1),
            saturation.sum(axis=1, dtype=np.int64),
        ],
        axis=1,
    )


def _look_up(table: NDArray[np.uint8], first: NDArray[np.uint8], second: NDArray[np.uint8]) -> NDArray[np.uint8]:
    at = first.astype(np.intp)
    at <<= 8
    at |= second
    return table.take(at, mode="wrap")
