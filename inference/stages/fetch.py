"""Fetch: reads the file tiles that a task needs, as encoded bytes, by the reader's coalesced range reads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from inference.shard_task import ShardTask
from inference.stages.values import Begun, FetchDone, Fetched
from wsi.slide.placement import place_in_strips


def fetch(task: ShardTask, *, max_open: int) -> Iterator[Begun | Fetched | FetchDone]:
    """Yield the placements of a task, the encoded tiles of each, and FetchDone with the error if one occurred.

    Lazy: the reader bounds its bytes in flight, and the channel behind this stage exerts backpressure. At most
    `max_open` boxes are open at a time. Ends early, without an error, once the task is cancelled.
    """
    grid, reader = task.plan.grid, task.reader
    level = grid.level

    def order_tiles(tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        return reader.sort_tiles(level, tiles)

    try:
        parts = place_in_strips(task.level, task.boxes, grid.level_side, grid.level_side_y, order_tiles, most=max_open)
        for chosen, placement in parts:
            yield Begun(task, placement, task.tiles[chosen][placement.order])
            for encoded in reader.read_runs(level, placement.tiles):
                if task.is_cancelled:
                    break
                yield Fetched(task, encoded)
            if task.is_cancelled:
                break
    except Exception as error:  # noqa: BLE001  # the border of a task: the sink of the loop decides
        yield FetchDone(task, error)
    else:
        yield FetchDone(task)
