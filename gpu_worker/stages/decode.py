"""Decode: bytes to pixels on a thread pool. The decoders release the GIL, so threads run side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from gpu_worker.stages.values import DecodedTile
from wsi.errors import TileUnreadable
from wsi.slide.coding import Reduction
from wsi.slide.slide import WHITE, EncodedTile, SlideReader

#: Tiles a worker thread may be ahead of the oldest one: enough to ride out one slow tile.
AHEAD = 2


def decode(
    reader: SlideReader, encoded: Iterable[EncodedTile], *, workers: int, reduction: Reduction = 1, fill: int = WHITE
) -> Iterator[DecodedTile]:
    """In the order in which the tiles came, whatever the number of workers, so that batches come out alike.

    A tile that can not be decoded goes on as its error; the batch stage names it in the reason of every model tile
    that it touches.
    """
    with ThreadPoolExecutor(workers, thread_name_prefix="decode") as pool:
        pending: deque[Future[DecodedTile]] = deque()
        try:
            for tile in encoded:
                pending.append(pool.submit(_decode_one, reader, tile, reduction, fill))
                if len(pending) >= workers * AHEAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _decode_one(reader: SlideReader, tile: EncodedTile, reduction: Reduction, fill: int) -> DecodedTile:
    try:
        return DecodedTile(tile.index, reader.decode(tile, reduction, fill))
    except TileUnreadable as error:
        return DecodedTile(tile.index, error)
