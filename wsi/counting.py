"""How many boxes of a grid hold tissue: what `wsi.grid.select_tiles` takes, counted without numpy for the API.

Both do the same sums in floating point in the same order, so that a box at the very threshold falls the same way.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from operator import itemgetter
from typing import Final

from wsi.bitmap import Bitmap

#: Boxes of a grid, tissue or not. 200,000 x 200,000 px in boxes of 64 px make 9.8 million; more comes of a wrong mpp.
MAX_BOXES: Final = 2**24
#: Share of a box below which rounding in the integral image can not be told from zero.
EPSILON: Final = 1e-9


def too_many_boxes(columns: int, rows: int, side: int, side_y: int) -> str | None:
    """What to say of a grid above `MAX_BOXES`."""
    if columns * rows <= MAX_BOXES:
        return None
    return (
        f"The slide would be cut into {columns * rows:,} tiles of {side} x {side_y} px, more than "
        f"{MAX_BOXES:,}: check its µm per pixel, or take a model with larger tiles."
    )


def count_tiles(
    mask: Bitmap,
    *,
    slide: tuple[int, int],
    box: tuple[int, int],
    min_tissue: float,
    region: tuple[int, int, int, int] | None = None,
) -> int:
    """Boxes of `box` (width, height) on `slide` (width, height) that `select_tiles` takes; level-0 px.

    `mask` spans the slide whatever its own size. `region` (x, y, width, height) must overlap the slide.
    """
    left, top, across, down = region or (0, 0, *slide)
    x = _places(slide[0], box[0], left, left + across, mask.width)
    y = _places(slide[1], box[1], top, top + down, mask.height)
    least = min_tissue - EPSILON
    widths = [end - begin for begin, end in pairwise(x.at)]
    beside = [1 - part for part in x.part]
    count = 0
    for (begin, above), (end, below) in pairwise(zip(y.at, _between(mask, x, y), strict=True)):
        height = end - begin
        band = [low - high for high, low in zip(above, below, strict=True)]
        sums = [
            low * near + high * part
            for low, high, near, part in zip(band, band[len(x.at) :], beside, x.part, strict=False)
        ]
        shares = [(to - of) / (height * width) for of, to, width in zip(sums, sums[1:], widths, strict=False)]
        count += sum(share >= least and share > EPSILON for share in shares)
    return count


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the boxes of a grid begin along one axis, and the last one ends."""

    at: list[float]  #: px of the mask
    low: list[int]  #: corner of the integral image before each
    high: list[int]  #: and behind it
    part: list[float]  #: of the way from the one to the other


def _places(size: int, side: int, begin: int, end: int, pixels: int) -> _Places:
    """Of the boxes that overlap `begin` to `end`, on an axis of `size` level-0 px and `pixels` of the mask."""
    numbers = range(max(begin, 0) // side, -(-min(end, size) // side) + 1)
    at = [min(number * side, size) * (pixels / size) for number in numbers]
    low = [min(int(place), pixels) for place in at]
    return _Places(
        at, low, [min(corner + 1, pixels) for corner in low], [place - of for place, of in zip(at, low, strict=True)]
    )


def _between(mask: Bitmap, x: _Places, y: _Places) -> Iterator[list[float]]:
    """The integral image at each of `y`, linearly between its rows: at the corners `x.low`, then at `x.high`."""
    rows = _integral(mask, sorted({*y.low, *y.high}))
    corners: Callable[[Sequence[int]], tuple[int, ...]] = itemgetter(*x.low, *x.high)
    held: dict[int, tuple[int, ...]] = {}
    for low, high, part in zip(y.low, y.high, y.part, strict=True):
        for row in (low, high):
            if row not in held:
                held[row] = corners(next(rows))
        held = {row: held[row] for row in (low, high)}
        near = 1 - part
        yield [above * near + below * part for above, below in zip(held[low], held[high], strict=True)]


def _integral(mask: Bitmap, wanted: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """[width + 1] sums of all pixels above and left of each corner, for the rows of corners `wanted`, ascending.

    Columns are summed all at once: an integer holds one in every 32 bits.
    """
    zeros = int.from_bytes(("0" * mask.width).encode("utf-32-le"), "little")
    sums, row = 0, 0
    texts = iter(mask.texts())
    for corner in wanted:
        for text in islice(texts, corner - row):
            sums += int.from_bytes(text.encode("utf-32-le"), "little") - zeros
        row = corner
        columns = struct.unpack(f"<{mask.width}I", sums.to_bytes(4 * mask.width, "little"))
        yield tuple(accumulate(columns, initial=0))
