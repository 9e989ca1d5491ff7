"""Fetch: the file's tiles that a work needs, as bytes, by the reader's coalesced range reads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpu_worker.stages.values import Begun, Fetched, Sent
from gpu_worker.work import Work
from wsi.slide.placement import placements


def fetch(work: Work, *, most: int) -> Iterator[Begun | Fetched | Sent]:
    """Lazy: the reader bounds its bytes in flight, and the channel behind this stage holds it back. At most `most`
    boxes are open at a time. Ends early, without a word, once the work is gone; an error is the work's last value."""
    grid, reader = work.plan.grid, work.reader
    level = grid.level

    def ordered(tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        return reader.ordered(level, tiles)

    try:
        parts = placements(work.level, work.boxes, grid.level_side, grid.level_side_y, ordered, most=most)
        for chosen, placement in parts:
            yield Begun(work, placement, work.tiles[chosen][placement.order])
            for encoded in reader.runs(level, placement.tiles):
                if work.gone:
                    break
                yield Fetched(work, encoded)
            if work.gone:
                break
    except Exception as error:  # noqa: BLE001  # the border of a work: whoever began it decides
        yield Sent(work, error)
    else:
        yield Sent(work)
