"""How a tile looks, whatever the model says of it: sharp or not, glass, ink, colour. For sorting tiles out, not for
scores.

Taken from a lattice of about `SAMPLES` x `SAMPLES` px of the tile as it was decoded, so that it costs little beside
any model, and in whole numbers up to one last division, so that every machine, batch and thread count gives the same
bytes. Values compare between tiles of one level; what lies past the slide's edge counts with the colour that fills it.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wsi import pen

SAMPLES: Final = 20  #: px of the lattice a side; up to twice as many, as its step is a whole number of px
WHITE: Final = (
    220  #: grey value; the glass of a lit slide lies above in all channels (`wsi.examination.GLASS` is lower)
)
QUALITY_VERSION: Final = 1  #: raised when a rule changes a single value
MOSTLY: Final = 0.5  #: white_fraction from which a tile is mostly glass
WITH_PEN: Final = 0.05  #: pen_fraction from which a tile counts as marked; below it lies noise of the camera
COLUMNS: Final = ("blur", "white_fraction", "pen_fraction", "saturation")

COOL, RED = 1, 2


class _Tables(NamedTuple):
    """Rules of two channels, looked up by 256 x the first + the second."""

    saturation: NDArray[np.uint8]  #: by brightest, darkest: 255 x (brightest - darkest) / brightest, rounded down
    cool_or_red: NDArray[np.uint8]  #: by red, green: COOL, a blue, green or turquoise ink; RED, red ink if blue agrees
    red: NDArray[np.uint8]  #: by green, blue: RED, red ink if red agrees


def measure(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """[n, height, width, 3] RGB -> [n, 4] of COLUMNS.

    blur: variance of the 4-neighbour Laplacian (4 x the pixel - its neighbours) of the green channel, in squared grey
    values; low is blurred or empty. Green, since stains and a camera's filter both leave most detail in it.
    The measure: J. Pech-Pacheco et al., Diatom autofocusing in brightfield microscopy, ICPR 2000.
    white_fraction: share of pixels with all channels at or above WHITE: glass.
    pen_fraction: share of pixels in a colour of ink (`wsi.pen`: blue, green, turquoise, red) against white glass. Black
    and navy ink look like pigment and haematoxylin and are not told from them; neither is the width of a stroke.
    saturation: mean of (brightest - darkest) / brightest channel, 0..1, as S in HSV.
    """
    count, height, width = pixels.shape[:3]
    if not count:
        return unmeasured()
    rows, columns = _lattice(height), _lattice(width)
    seen = pixels[:, rows, columns]
    red, green, blue = (np.ascontiguousarray(seen[..., channel]).reshape(count, -1) for channel in range(3))
    brightest = np.maximum(np.maximum(red, green), blue)
    darkest = np.minimum(np.minimum(red, green), blue)
    tables = _tables()
    ink = _look_up(tables.cool_or_red, red, green)
    ink = (ink == COOL) | ((ink & _look_up(tables.red, green, blue)) == RED)
    samples = red.shape[1]
    return np.stack(
        [
            _laplacian_variance(pixels, rows, columns),
            np.count_nonzero(darkest >= WHITE, axis=1) / samples,
            np.count_nonzero(ink, axis=1) / samples,
            _look_up(tables.saturation, brightest, darkest).sum(axis=1, dtype=np.int64) / (255 * samples),
        ],
        axis=1,
    ).astype(np.float32)


def unmeasured(count: int = 0) -> NDArray[np.float32]:
    """[count, 4] NaN: of tiles that an older worker computed."""
    return np.full((count, len(COLUMNS)), np.nan, np.float32)


def _lattice(side: int) -> slice:
    """Places along one axis, in the middle of equal steps. Odd ones, which meet every place in a JPEG's blocks of 8."""
    step = max(1, (side // SAMPLES - 1) | 1)
    return slice(step // 2, side, step)


def _laplacian_variance(pixels: NDArray[np.uint8], rows: slice, columns: slice) -> NDArray[np.float64]:
    """[n] over the lattice without the tile's outermost pixels, which have no neighbour."""
    height, width = pixels.shape[1:3]
    down = [y for y in range(height)[rows] if 0 < y < height - 1]
    across = [x for x in range(width)[columns] if 0 < x < width - 1]
    if not (down and across):
        return np.zeros(len(pixels))

    def green(y: int, x: int) -> NDArray[np.uint8]:
        """The lattice moved by y, x: gathered first, since arithmetic on bytes that lie apart takes longer."""
        moved = pixels[:, down[0] + y : down[-1] + y + 1 : rows.step, across[0] + x : across[-1] + x + 1 : columns.step]
        return np.ascontiguousarray(moved[..., 1])

    bend = green(0, 0).astype(np.int16)
    bend *= 4
    for y, x in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        bend -= green(y, x)
    values = bend.reshape(len(pixels), -1).astype(np.int32)
    samples, total = values.shape[1], values.sum(axis=1, dtype=np.int64)
    values *= values  # at most 1020 squared
    return (values.sum(axis=1, dtype=np.int64) * samples - total * total) / samples**2


def _look_up(table: NDArray[np.uint8], first: NDArray[np.uint8], second: NDArray[np.uint8]) -> NDArray[np.uint8]:
    at = first.astype(np.intp)
    at <<= 8
    at |= second
    return table.take(at)


@cache
def _tables() -> _Tables:
    first, second = (axis.ravel() for axis in np.mgrid[:256, :256].astype(np.int32))
    saturation = 255 * np.maximum(first - second, 0) // np.maximum(first, 1)
    grey = np.arange(256, dtype=np.uint8)
    dense = pen.density(np.stack([grey] * 3, axis=-1)[None], np.full(3, 255, np.uint8))[0, :, 0].astype(np.int32)
    one, other = dense[first], dense[second]
    cool = (one >= pen.COOL_DENSITY * pen.UNIT) & (100 * one >= pen.COOL_RATIO * other)
    may_be_red = (other >= pen.RED_DENSITY * pen.UNIT) & (100 * one <= pen.RED_RED * other)
    red = 100 * other >= pen.RED_BLUE * one
    return _Tables(
        saturation=saturation.astype(np.uint8),
        cool_or_red=(COOL * cool + RED * may_be_red).astype(np.uint8),
        red=(RED * red).astype(np.uint8),
    )
