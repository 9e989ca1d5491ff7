"""Batches as a model would get them, without a model: the engine's fetch, decode and batch stages alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_worker.channel import Channel
from gpu_worker.decoding.choice import CPU_BUDGET
from gpu_worker.decoding.jobs import Decoders
from gpu_worker.decoding.memory import private
from gpu_worker.decoding.threads import ThreadDecoders
from gpu_worker.engine import Engine
from gpu_worker.stages.batch import RESERVED
from gpu_worker.stages.forward import Forward
from gpu_worker.stages.values import Ended, Outputs, Slot
from gpu_worker.work import Work


def batches(
    works: Sequence[Work], *, decoders: Decoders | None = None, budget: int = CPU_BUDGET, workers: int = 2
) -> Iterator[tuple[Work, NDArray[np.int32], NDArray[np.uint8]]]:
    """(work of the first row, tile numbers, [batch, height, width, 3] pixels) of each batch; the pixels hold until the
    next one is asked for. Raises what ended a work."""
    handed: _Handed | None = None

    def forward(used: Decoders, release: Callable[[Slot], None]) -> Forward:
        nonlocal handed
        handed = _Handed(used, release)
        return handed

    with (
        closing(decoders or ThreadDecoders(workers, private(RESERVED))) as used,
        Engine(used, budget, forward=forward) as engine,
    ):
        left = sum(len(work.tiles) for work in works)
        for work in works:
            engine.begin(work)
        while left:
            event: Any = engine.next()
            if isinstance(event, Ended):
                raise event.error or RuntimeError("a work ended without all its tiles")
            slot: Slot = event
            tiles = slot.tiles[slot.tiles >= 0]
            left -= len(tiles)
            yield slot.works[0], tiles, slot.rows.of(used.memory)[slot.first : slot.first + slot.size]
            assert handed is not None
            handed.done.release()


class _Handed(Forward):
    """Hands each batch over in place of computing it, and waits until it was looked at."""

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
