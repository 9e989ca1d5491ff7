"""Batches as a model would get them, without a model: the engine's fetch, decode and batch stages alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.channel import Channel
from inference.decoder_choice import CPU_BUDGET
from inference.decoding.decode_tasks import Decoders
from inference.decoding.memory import allocate_private
from inference.decoding.threads import ThreadDecoders
from inference.engine import Engine
from inference.shard_task import ShardTask
from inference.stages.batch import RESERVED
from inference.stages.forward import Forward
from inference.stages.values import Ended, Outputs, Slot


def make_batches(
    works: Sequence[ShardTask], *, decoders: Decoders | None = None, budget: int = CPU_BUDGET, workers: int = 2
) -> Iterator[tuple[ShardTask, NDArray[np.int32], NDArray[np.uint8]]]:
    """Yield (task of the first row, tile numbers, [batch, height, width, 3] pixels) of each batch. The pixels are valid
    until the next batch is requested. Raises the error that ended a task, RuntimeError if it has none."""
    handed: _Handed | None = None

    def forward(used: Decoders, release: Callable[[Slot], None]) -> Forward:
        nonlocal handed
        handed = _Handed(used, release)
        return handed

    with (
        closing(decoders or ThreadDecoders(workers, allocate_private(RESERVED))) as used,
        Engine(used, budget, forward=forward) as engine,
    ):
        left = sum(len(work.tiles) for work in works)
        for work in works:
            engine.begin(work)
        while left:
            event: Any = engine.wait_for_event()
            if isinstance(event, Ended):
                raise event.error or RuntimeError("a work ended without all its tiles")
            slot: Slot = event
            tiles = slot.tiles[slot.tiles >= 0]
            left -= len(tiles)
            yield slot.tasks[0], tiles, slot.rows.view(used.memory)[slot.first : slot.first + slot.size]
            assert handed is not None
            handed.done.release()


class _Handed(Forward):
    """A forward stage that hands over each batch instead of computing it, and waits until the caller is done."""

    def __init__(self, decoders: Decoders, release: Callable[[Slot], None]) -> None:
        super().__init__(decoders, release)
        self._given_back = release
        self.done = threading.Semaphore(0)

    def run(self, channel: Channel[Slot | Ended]) -> Iterator[Outputs | Ended]:
        while True:
            item: Any = channel.get()
            if item is None:
                continue
            yield item
            if isinstance(item, Slot):
                self.done.acquire()
                self._given_back(item)
