"""Decode: bytes to pixels on a thread pool. The decoders release the GIL, so threads run side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from gpu_worker.stages.values import DecodedTile
from wsi.errors import TileUnreadable
from wsi.slide.coding import Reduction
from wsi.slide.slide import WHITE, EncodedTile, SlideReader

#: Tasks a worker thread may be ahead of the oldest one: enough to ride out one slow tile.
AHEAD = 2
#: Pixels of one task, and its tiles at most. A task a tile took 8 % more CPU for the whole way of 240-px JPEG tiles.
TASK_PIXELS = 512 * 1024
MOST = 8


def decode(
    reader: SlideReader, encoded: Iterable[EncodedTile], *, workers: int, reduction: Reduction = 1, fill: int = WHITE
) -> Iterator[DecodedTile]:
    """In the order in which the tiles came, whatever the number of workers, so that batches come out alike.

    A tile that can not be decoded goes on as its error; the batch stage names it in the reason of every model tile
    that it touches.
    """
    with ThreadPoolExecutor(workers, thread_name_prefix="decode") as pool:
        pending: deque[Future[list[DecodedTile]]] = deque()
        try:
            for tiles in _tasks(reader, encoded):
                pending.append(pool.submit(_decode_some, reader, tiles, reduction, fill))
                if len(pending) >= workers * AHEAD:
                    yield from pending.popleft().result()
            while pending:
                yield from pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _tasks(reader: SlideReader, encoded: Iterable[EncodedTile]) -> Iterator[list[EncodedTile]]:
    """Neighbours in `encoded`, as many as a task takes."""
    tiles: list[EncodedTile] = []
    for tile in encoded:
        tiles.append(tile)
        info = reader.inspection.levels[tile.level]
        if len(tiles) >= min(MOST, TASK_PIXELS // (info.tile_width * info.tile_height)):
            yield tiles
            tiles = []
    if tiles:
        yield tiles


def _decode_some(
    reader: SlideReader, tiles: Iterable[EncodedTile], reduction: Reduction, fill: int
) -> list[DecodedTile]:
    return [_decode_one(reader, tile, reduction, fill) for tile in tiles]


def _decode_one(reader: SlideReader, tile: EncodedTile, reduction: Reduction, fill: int) -> DecodedTile:
    try:
        return DecodedTile(tile.index, reader.decode(tile, reduction, fill))
    except TileUnreadable as error:
        return DecodedTile(tile.index, error)
