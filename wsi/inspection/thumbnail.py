"""An overview of the whole slide, averaged from the tiles of one level of the pyramid as they stream by. It takes the
memory of the overview, however large the level is. Label and macro are never read."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.cores import count_available_cores
from wsi.errors import TileUnreadable
from wsi.inspection.tissue import measure_glass_colour
from wsi.records.slides import LevelInfo
from wsi.slide.coding import REDUCTIONS, Reduction
from wsi.slide.slide import RGB, EncodedTile, SlideReader

BYTES = 2_000_000  #: of an overview's level, with all of its planes
#: Times `max_px`: a level up to here is averaged pixel by pixel, a larger one from its codec's small pictures.
WHOLE = 4
_BATCH: Final = 32  #: tiles a task: at a tenth of a millisecond a tile, a task a tile would cost as much as the tiles
_BATCH_BYTES: Final = 1024**2
_STRIP_BYTES: Final = 512 * 1024  #: of pixels that are summed at once: ten times as quick as tiles of 32 px one by one
_AHEAD: Final = 2  #: batches a thread that are fetched and wait


@dataclass(frozen=True, slots=True)
class Thumbnail:
    pixels: RGB  #: unreadable tiles are painted as glass
    downsample: float  #: level-0 px per px of the thumbnail
    unreadable: int  #: tiles of the file that could not be decoded
    readable: NDArray[np.bool_]  #: [height, width] where pixels come from the file
    tiles: int  #: of the file that it was made from


def choose_overview_level(levels: Sequence[LevelInfo], sizes: Sequence[int], max_px: int) -> int:
    """Return the number of the level to make the overview from: the one whose longer side is the shortest from `max_px`
    / 2 up. If that takes more than `BYTES` (`sizes`), take the largest smaller one that does not and still shows tissue
    (from `max_px` / 4 up), or else the smallest of those."""
    sides = [max(level.width, level.height) for level in levels]
    fine = min((k for k, side in enumerate(sides) if 2 * side >= max_px), key=lambda k: sides[k], default=0)
    enough = [k for k, side in enumerate(sides) if k == fine or (4 * side >= max_px and side < sides[fine])]
    enough.sort(key=lambda k: -sides[k])
    return next((k for k in enough if sizes[k] <= BYTES), enough[-1])


def make_thumbnail(reader: SlideReader, max_px: int, *, threads: int | None = None) -> Thumbnail:
    """Make an overview of at most `max_px` on the longer side. A level above `WHOLE` x `max_px` is decoded at an eighth
    of its size where its tiles allow it. The sums are whole numbers, so that the pixels do not depend on `threads`
    (default: the cores). Raises SourceError."""
    levels = reader.inspection.levels
    level = choose_overview_level(levels, [reader.estimate_level_bytes(each) for each in range(len(levels))], max_px)
    info = levels[level]
    grid = _Grid(info, _reduction(info, WHOLE * max_px), max_px)
    tiles = np.arange(grid.rows * grid.columns)
    shared = _Shared(reader.map_duplicates(level, tiles))
    total = _Sums(reader, grid, shared)
    unreadable = _on_threads(
        reader.read_tiles(level, shared.decoded.tolist()), total, threads or count_available_cores()
    )
    pixels, readable = total.means()
    if unreadable:
        pixels[~readable] = measure_glass_colour(pixels[readable]) if readable.any() else 255
    return Thumbnail(pixels, info.downsample * grid.reduction * grid.factor, unreadable, readable, len(tiles))


def _reduction(info: LevelInfo, whole: int) -> Reduction:
    """Return the reduction to decode at: 1 for a level of at most `whole` px, else the strongest one that divides the
    tile. Others would move the squares of neighbours apart."""
    if max(info.width, info.height) <= whole:
        return 1
    most = min(info.width, info.height)
    fits: list[Reduction] = [
        each for each in REDUCTIONS if each <= most and info.tile_width % each == info.tile_height % each == 0
    ]
    return fits[-1]


class _Grid:
    """A level as it is decoded, and the squares of `factor` px that make one px of the overview. The rest of the level
    past its last whole decoded px is not shown."""

    def __init__(self, info: LevelInfo, reduction: Reduction, max_px: int) -> None:
        self.reduction: Reduction = reduction
        self.width, self.height = info.width // reduction, info.height // reduction
        self.tile_width, self.tile_height = info.tile_width // reduction, info.tile_height // reduction
        self.columns, self.rows = -(-info.width // info.tile_width), -(-info.height // info.tile_height)
        self.factor = -(-max(self.width, self.height) // max_px)

    @property
    def shape(self) -> tuple[int, int]:
        return -(-self.height // self.factor), -(-self.width // self.factor)


class _Shared:
    """Groups of tiles that share their bytes; one tile of each is decoded."""

    def __init__(self, same: NDArray[np.int64]) -> None:
        """Take the decoded tile of each tile, [tiles]."""
        self._tiles = np.argsort(same, kind="stable")
        self.decoded, first = np.unique(same[self._tiles], return_index=True)
        self._first = np.append(first, len(same))

    def with_bytes_of(self, tile: int) -> NDArray[np.int64]:
        if len(self.decoded) == len(self._tiles):  # nothing is shared; a search would take 5 us a tile
            return self._tiles[tile : tile + 1]
        place = int(np.searchsorted(self.decoded, tile))
        return self._tiles[self._first[place] : self._first[place + 1]]


class _Sums:
    """Sums over all tiles. Tiles may be added from any number of threads."""

    def __init__(self, reader: SlideReader, grid: _Grid, shared: _Shared) -> None:
        self._reader = reader
        self._grid = grid
        self._shared = shared
        self._lock = threading.Lock()
        # The sum of a square of 4,096 x 4,096 px is the last that 32 bits hold.
        self._kind = np.uint32 if grid.factor <= 4096 else np.uint64
        self._sums = np.zeros((*grid.shape, 3), self._kind)
        self._counts = np.zeros(grid.shape, self._kind)

    def add(self, batch: list[EncodedTile]) -> int:
        """Add the tiles, and return the number of those that could not be decoded."""
        unreadable = 0
        strip: list[RGB] = []  # neighbours of one row, which are summed as one picture
        end = 0  # the number after the strip's last tile
        for tile in batch:
            tiles = self._shared.with_bytes_of(tile.index)
            try:
                pixels = self._reader.decode(tile, self._grid.reduction)
            except TileUnreadable:
                unreadable += len(tiles)
                continue
            if len(tiles) > 1:
                self._add_often(pixels, *np.divmod(tiles, self._grid.columns))
                continue
            begins_row = tile.index % self._grid.columns == 0
            if strip and (tile.index != end or begins_row or len(strip) * pixels.nbytes >= _STRIP_BYTES):
                self._add_strip(strip, end)
                strip = []
            strip.append(pixels)
            end = tile.index + 1
        if strip:
            self._add_strip(strip, end)
        return unreadable

    def means(self) -> tuple[RGB, NDArray[np.bool_]]:
        """Return the means, [height, width, 3], and the mask of pixels to which anything was added, [height, width]."""
        counts = np.maximum(self._counts, 1)[..., None]
        return ((self._sums + counts // 2) // counts).astype(np.uint8), self._counts > 0

    def _add_strip(self, strip: list[RGB], end: int) -> None:
        """Add neighbours of one row, the last of which is the tile before `end`."""
        grid = self._grid
        row, column = divmod(end - len(strip), grid.columns)
        pixels = np.concatenate(strip, axis=1) if len(strip) > 1 else strip[0]
        y, x = row * grid.tile_height, column * grid.tile_width
        inside = pixels[: max(0, grid.height - y), : max(0, grid.width - x)]
        if not inside.size:
            return
        cells, counts = self._sum_squares(inside, y % grid.factor, x % grid.factor)
        self._add_cells(cells, counts, np.array([y // grid.factor]), np.array([x // grid.factor]))

    def _add_often(self, pixels: RGB, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
        """Add one tile at many places, in one step for all places where the squares cut it alike."""
        grid = self._grid
        y, x = rows * grid.tile_height, columns * grid.tile_width
        cut = np.stack(
            (
                np.clip(grid.height - y, 0, pixels.shape[0]),
                np.clip(grid.width - x, 0, pixels.shape[1]),
                y % grid.factor,
                x % grid.factor,
            )
        )
        order = np.lexsort(cut)
        ends = np.flatnonzero(np.diff(cut[:, order], axis=1, append=-1).any(axis=0)) + 1
        for places in np.split(order, ends[:-1]):
            height, width, down, across = cut[:, places[0]].tolist()
            if height and width:
                cells, counts = self._sum_squares(pixels[:height, :width], down, across)
                self._add_cells(cells, counts, y[places] // grid.factor, x[places] // grid.factor)

    def _add_cells(
        self,
        cells: NDArray[np.integer],
        counts: NDArray[np.integer],
        top: NDArray[np.int64],
        left: NDArray[np.int64],
    ) -> None:
        """Add the same squares at many places, by the shorter of two loops: over places, or over squares. One square is
        never added to twice at once: tiles are whole squares apart."""
        height, width = counts.shape
        with self._lock:
            if len(top) <= height * width:
                for y, x in zip(top.tolist(), left.tolist(), strict=True):
                    self._sums[y : y + height, x : x + width] += cells
                    self._counts[y : y + height, x : x + width] += counts
                return
            for row, column in np.ndindex(height, width):
                self._sums[top + row, left + column] += cells[row, column]
                self._counts[top + row, left + column] += counts[row, column]

    def _sum_squares(self, inside: RGB, down: int, across: int) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Return the sums [rows, columns, 3] and counts [rows, columns] of px that begin `down` and `across` px into a
        square."""
        row_starts, heights = _cells(down, inside.shape[0], self._grid.factor)
        column_starts, widths = _cells(across, inside.shape[1], self._grid.factor)
        by_row = np.add.reduceat(inside, row_starts, axis=0, dtype=self._kind)
        cells = np.add.reduceat(by_row, column_starts, axis=1, dtype=self._kind)
        return cells, np.outer(heights, widths).astype(self._kind)


@lru_cache(maxsize=4096)
def _cells(phase: int, size: int, factor: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the starts of the squares within `size` px that begin `phase` px into one, and their lengths there."""
    starts = np.unique(np.concatenate(([0], np.arange(factor - phase, size, factor)))).astype(np.intp)
    return starts, np.diff(starts, append=size)


def _on_threads(encoded: Iterator[EncodedTile], total: _Sums, threads: int) -> int:
    """Decode and add all tiles, and return the number of those that could not be decoded. Fetching stays on this
    thread."""
    unreadable = 0
    waiting: deque[Future[int]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="overview") as pool:
        for batch in _batches(encoded):
            waiting.append(pool.submit(total.add, batch))
            if len(waiting) > threads * _AHEAD:
                unreadable += waiting.popleft().result()
        return unreadable + sum(done.result() for done in waiting)


def _batches(tiles: Iterator[EncodedTile]) -> Iterator[list[EncodedTile]]:
    batch: list[EncodedTile] = []
    size = 0
    for tile in tiles:
        batch.append(tile)
        size += sum(map(len, tile.pieces))
        if len(batch) == _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
