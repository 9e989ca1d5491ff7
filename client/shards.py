"""The shards of one slide on one device: computed one behind the other without a gap, each saved as it ends."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from client.inputs import SlideInput
from client.partial import Partial
from gpu_worker.engine import Engine
from gpu_worker.measuring import Measuring
from gpu_worker.models.loaded import LoadedModel
from gpu_worker.pipeline import Drained, ShardRun
from gpu_worker.stages.values import Ended
from gpu_worker.work import Work
from wsi.model_card import ModelCard
from wsi.plan import Plan
from wsi.shards import shard_offsets
from wsi.slide.reads import Reads
from wsi.slide.scratch import OnCopy
from wsi.slide.slide import SlideReader
from wsi.slide.source import SlideSource

#: Shards that are begun and not ended: the one in the model, and the next, whose tiles are fetched and decoded.
BEGUN = 2
#: Where several devices share a slide: shards of each at least, so that the last one keeps the others waiting for a
#: small part of the time, but none of fewer batches than `LEAST_BATCHES`, since each costs a file.
SHARES = 8
LEAST_BATCHES = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelToRun:
    card: ModelCard
    package: Path | None  #: its folder; None for a built-in model
    device: str  #: "cpu" | "cuda"; with `threads` it is part of what names a result
    threads: int  #: CPU threads of the model


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """How a run is seen and stopped from outside."""

    stop: threading.Event
    on_planned: Callable[[int], None]  #: tiles of the slide
    on_tiles: Callable[[int], None]  #: tiles finished since the last call; resumed ones too; below 0: lost again
    on_copy: OnCopy  #: the copy of a remote slide that only OpenSlide reads


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """A slide whose shards are to be computed."""

    slide: SlideInput
    source: SlideSource
    reader: SlideReader
    reads: Reads  #: through `reader`
    plan: Plan
    partial: Partial

    def unfinished(self, watched: Watched) -> Iterator[int]:
        """Shards; `watched` is told the tiles of the others."""
        for index, size in enumerate(self.plan.shard_sizes):
            if self.partial.finished(index):
                watched.on_tiles(size)
            else:
                yield index


class Computing(Protocol):
    @property
    def devices(self) -> int: ...

    def compute(self, planned: Planned, model: ModelToRun, watched: Watched) -> None:
        """Every shard's result in the slide's folder. Raises every error as it is, and KeyboardInterrupt once
        `watched.stop` is set, after the last checkpoints."""
        ...


class InThisProcess:
    """On one device."""

    devices = 1

    def __init__(self, loaded: Mapping[str, LoadedModel], engine: Engine) -> None:
        """`loaded`: by the identity of the card."""
        self._loaded = loaded
        self._engine = engine

    def compute(self, planned: Planned, model: ModelToRun, watched: Watched) -> None:
        waiting = _Waiting(planned.unfinished(watched))
        measuring = Measuring(planned.reads, model.device)
        loaded = self._loaded[model.card.identity]
        whole = compute_shards(planned, loaded, measuring, self._engine, watched, waiting)
        if waiting.left or not whole:
            raise KeyboardInterrupt


class Shards(Protocol):
    """Which are computed next, decided elsewhere."""

    def next(self, *, wait: bool) -> int | None:
        """None: there is none, or none yet, where nobody is to wait since another one is computed."""
        ...

    def saved(self, index: int) -> None: ...


class _Waiting:
    def __init__(self, shards: Iterator[int]) -> None:
        self.left = deque(shards)

    def next(self, *, wait: bool) -> int | None:
        return self.left.popleft() if self.left else None

    def saved(self, index: int) -> None:
        """Nobody else computes any."""


def cut(plan: Plan, devices: int) -> Plan:
    """The plan with shards for so many devices. No digest and no number depends on shards."""
    tiles = len(plan.tiles)
    size = max(LEAST_BATCHES * plan.numerics.batch, -(-tiles // (SHARES * devices)))
    if devices == 1 or size >= max(plan.shard_sizes, default=0):
        return plan
    return replace(plan, shard_offsets=np.asarray(shard_offsets(tiles, size), dtype=np.int32))


def compute_shards(
    planned: Planned, loaded: LoadedModel, measuring: Measuring, engine: Engine, watched: Watched, shards: Shards
) -> bool:
    """Until there are no more, or `watched.stop` is set. False: one was stopped, and what it has lies in a checkpoint.
    Raises every error as it is."""
    begun: dict[Work, tuple[ShardRun, float]] = {}
    whole = True

    def save(run: tuple[ShardRun, float], ended: Ended) -> bool:
        saved = _save(planned.partial, run, measuring, ended)
        if saved:
            shards.saved(ended.work.index)
        return saved

    try:
        while True:
            while len(begun) < BEGUN and not watched.stop.is_set():
                index = shards.next(wait=not begun)
                if index is None:
                    break
                run = _begin(planned, index, loaded, watched)
                begun[run.work] = run, time.monotonic()
                if len(run.work.tiles):
                    engine.begin(run.work)
                else:
                    save(begun.pop(run.work), Ended(run.work))
            if not begun:
                return whole
            event = engine.next()
            if event is None or event.work not in begun:  # of a slide before, which an error ended
                continue
            if isinstance(event, Ended):
                whole &= save(begun.pop(event.work), event)
            else:
                begun[event.work][0].add(event)
                watched.on_tiles(event.count)
    except BaseException:
        for work in begun:
            work.ended.set()  # nothing more of them is computed
        raise


def _begin(planned: Planned, index: int, loaded: LoadedModel, watched: Watched) -> ShardRun:
    partial = planned.partial
    resume = partial.checkpoint(index)
    if resume is not None:
        watched.on_tiles(resume.done)
    work = Work.of(planned.plan, index, planned.reader, loaded, resume=resume, stop=watched.stop)
    return ShardRun(work, resume, on_checkpoint=lambda result: partial.save_checkpoint(index, result))


def _save(partial: Partial, begun: tuple[ShardRun, float], measuring: Measuring, ended: Ended) -> bool:
    """False: it was stopped, and what it has lies in a checkpoint."""
    run, at = begun
    try:
        result = run.end(ended)
    except Drained:
        return False
    partial.save_shard(run.work.index, measuring.measured(result, at))
    return True
