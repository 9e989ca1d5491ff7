"""An overview of the whole slide, averaged from the tiles of one level as they stream by: memory is the overview's,
however large the level is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.errors import TileUnreadable
from wsi.records.slides import LevelInfo
from wsi.slide.slide import RGB, SlideReader
from wsi.tissue import glass_colour


@dataclass(frozen=True, slots=True)
class Thumbnail:
    pixels: RGB  #: unreadable tiles are painted as glass
    downsample: float  #: level-0 px per px of the thumbnail
    unreadable: int  #: tiles of the file that could not be decoded
    readable: NDArray[np.bool_]  #: [height, width] where pixels come from the file
    tiles: int  #: of the file that it was made from


def thumbnail(reader: SlideReader, max_px: int) -> Thumbnail:
    """At most `max_px` on the longer side, from the smallest level that is not smaller. Raises SourceError."""
    levels = reader.inspection.levels
    level = max((k for k, info in enumerate(levels) if max(info.width, info.height) >= max_px), default=0)
    info = levels[level]
    factor = -(-max(info.width, info.height) // max_px)
    sums = np.zeros((-(-info.height // factor), -(-info.width // factor), 3), np.uint32)
    counts = np.zeros(sums.shape[:2], np.uint32)
    columns, rows = -(-info.width // info.tile_width), -(-info.height // info.tile_height)
    unreadable = 0
    for tile in reader.encoded(level, range(rows * columns)):
        try:
            pixels = reader.decode(tile)
        except TileUnreadable:
            unreadable += 1
            continue
        row, column = divmod(tile.index, columns)
        _add(sums, counts, pixels, column * info.tile_width, row * info.tile_height, info, factor)
    readable = counts > 0
    means = (sums + counts[..., None] // 2) // np.maximum(counts, 1)[..., None]
    overview = means.astype(np.uint8)
    if unreadable:
        overview[~readable] = glass_colour(overview[readable]) if readable.any() else 255
    return Thumbnail(overview, info.downsample * factor, unreadable, readable, rows * columns)


def _add(
    sums: NDArray[np.uint32], counts: NDArray[np.uint32], pixels: RGB, x: int, y: int, info: LevelInfo, factor: int
) -> None:
    """Adds a tile at (x, y) of its level to the cells of `factor` x `factor` px that it overlaps."""
    inside = pixels[: info.height - y, : info.width - x]
    row_starts, column_starts = _cells(y, inside.shape[0], factor), _cells(x, inside.shape[1], factor)
    by_row = np.add.reduceat(inside, row_starts, axis=0, dtype=np.uint32)
    cells = np.add.reduceat(by_row, column_starts, axis=1, dtype=np.uint32)
    heights = np.diff(row_starts, append=inside.shape[0])
    widths = np.diff(column_starts, append=inside.shape[1])
    top, left = y // factor, x // factor
    sums[top : top + len(heights), left : left + len(widths)] += cells
    counts[top : top + len(heights), left : left + len(widths)] += np.outer(heights, widths).astype(np.uint32)


def _cells(start: int, size: int, factor: int) -> NDArray[np.intp]:
    """Where the cells begin within `size` px that begin at `start`; the first one may be cut."""
    first = -start % factor
    return np.unique(np.concatenate(([0], np.arange(first, size, factor)))).astype(np.intp)
