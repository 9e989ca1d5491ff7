"""The shards of one slide on one device: computed one after the other without a gap, each saved as it ends."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from inference.engine import Engine
from inference.models.loaded import LoadedModel
from inference.shard_loop import ShardLoop, ShardSink
from inference.shard_meter import ShardMeter
from inference.shard_run import ShardRun
from inference.shard_task import ShardTask
from inference.stages.values import Outputs
from tessera.local_run.checkpoints import RunCheckpoint
from tessera.local_run.inputs import SlideInput
from wsi.planning.plan import Plan
from wsi.planning.shards import compute_shard_offsets
from wsi.records.model_card import ModelCard
from wsi.results.shard_result import ShardResult
from wsi.slide.files.scratch import OnCopy
from wsi.slide.files.source import SlideSource
from wsi.slide.reads import ReadCounter
from wsi.slide.slide import SlideReader

#: Where several devices share a slide: the least number of shards for each, so that the last shard keeps the other
#: devices waiting for a small part of the time; and the least number of batches in a shard, since each costs a file.
SHARDS_PER_DEVICE = 8
MIN_BATCHES = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelToRun:
    """A model, and how to run it."""

    card: ModelCard
    package: Path | None  #: its folder; None for a built-in model
    device: str  #: "cpu" | "cuda"; with `threads` it is part of what names a result
    threads: int  #: CPU threads of the model


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCallbacks:
    """The callbacks by which a caller follows a run, and the event that stops it."""

    stop: threading.Event
    on_planned: Callable[[int], None]  #: tiles of the slide
    on_tiles: Callable[[int], None]  #: tiles finished since the last call; resumed ones too; below 0: lost again
    on_copy: OnCopy  #: the copy of a remote slide that only OpenSlide reads


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedSlide:
    """A slide whose shards must be computed."""

    slide: SlideInput
    source: SlideSource
    reader: SlideReader
    reads: ReadCounter  #: through `reader`
    plan: Plan
    checkpoint: RunCheckpoint

    def select_unfinished(self, callbacks: RunCallbacks) -> Iterator[int]:
        """Yield the shards that are not saved yet; `callbacks` gets the tiles of the others."""
        for index, size in enumerate(self.plan.shard_sizes):
            if self.checkpoint.has_shard(index):
                callbacks.on_tiles(size)
            else:
                yield index


class ShardRunner(Protocol):
    """A runner that computes slides on one device or on several."""

    @property
    def devices(self) -> int: ...

    def compute(self, planned: PlannedSlide, model: ModelToRun, callbacks: RunCallbacks) -> None:
        """Save every shard's result in the slide's folder.

        Raises every error as it is, and KeyboardInterrupt once `callbacks.stop` is set, after the last checkpoints.
        """
        ...


class ShardQueue(Protocol):
    """The shards that a device must compute; a scheduler may fill it from elsewhere."""

    def take_next(self, *, wait: bool) -> int | None:
        """Return the next shard; None if there is none, or none now and `wait` is not set."""
        ...

    def on_saved(self, index: int) -> None:
        """Note that the shard is saved."""
        ...


class SingleDeviceRunner:
    """A runner on one device, in this process."""

    devices = 1

    def __init__(self, loaded: Mapping[str, LoadedModel], engine: Engine) -> None:
        """Take the models that are loaded, by the identity of the card."""
        self.loaded = loaded
        self.engine = engine

    def compute(self, planned: PlannedSlide, model: ModelToRun, callbacks: RunCallbacks) -> None:
        waiting = _WaitingShards(planned.select_unfinished(callbacks))
        loaded = self.loaded[model.card.identity]
        all_saved = compute_shards(planned, loaded, model.device, self.engine, callbacks, waiting)
        if waiting.shards or not all_saved:
            raise KeyboardInterrupt


class _WaitingShards:
    """A queue that this process alone reads."""

    def __init__(self, shards: Iterator[int]) -> None:
        self.shards = deque(shards)

    def take_next(self, *, wait: bool) -> int | None:
        return self.shards.popleft() if self.shards else None

    def on_saved(self, index: int) -> None:
        """Ignore the shard: no other process needs to know."""


def cut_for_devices(plan: Plan, devices: int) -> Plan:
    """Return the plan with shards for the number of devices. No digest and no result depends on shards."""
    tiles = len(plan.tiles)
    size = max(MIN_BATCHES * plan.numerics.batch, -(-tiles // (SHARDS_PER_DEVICE * devices)))
    if devices == 1 or size >= max(plan.shard_sizes, default=0):
        return plan
    return replace(plan, shard_offsets=np.asarray(compute_shard_offsets(tiles, size), dtype=np.int32))


def compute_shards(
    planned: PlannedSlide,
    loaded: LoadedModel,
    device: str,
    engine: Engine,
    callbacks: RunCallbacks,
    queue: ShardQueue,
) -> bool:
    """Compute the queue's shards until there are no more, or `callbacks.stop` is set.

    Return False if a shard was stopped: what it has is in a checkpoint. Raises every error as it is.
    """
    port = _FolderPort(planned, loaded, device, callbacks, queue)
    ShardLoop(engine, port, port).run()
    return port.all_saved


class _FolderPort(ShardSink):
    """A source and a sink of shards: from a queue into the slide's folder of partial results."""

    def __init__(
        self, planned: PlannedSlide, loaded: LoadedModel, device: str, callbacks: RunCallbacks, queue: ShardQueue
    ) -> None:
        self.all_saved = True
        self._planned, self._loaded = planned, loaded
        self._callbacks, self._queue = callbacks, queue
        self._meter = ShardMeter(planned.reads, device)

    def take_next(self, *, wait: bool) -> ShardRun | None:
        if self._callbacks.stop.is_set():
            return None
        index = self._queue.take_next(wait=wait)
        return None if index is None else self._new_run(index)

    def on_batch(self, run: ShardRun, outputs: Outputs) -> None:
        self._callbacks.on_tiles(outputs.count)

    def on_finished(self, run: ShardRun, result: ShardResult) -> None:
        index = run.task.index
        self._planned.checkpoint.save_shard(index, self._meter.stop(result, began=run.began))
        self._queue.on_saved(index)

    def on_stopped(self, run: ShardRun) -> None:
        self.all_saved = False

    def on_failed(self, run: ShardRun, error: Exception) -> None:
        raise error

    def _new_run(self, index: int) -> ShardRun:
        plan, saved = self._planned.plan, self._planned.checkpoint
        resume = saved.read_checkpoint(index)
        if resume is not None:
            self._callbacks.on_tiles(resume.done)
        task = ShardTask.from_plan(
            plan, index, self._planned.reader, self._loaded, resume=resume, stop=self._callbacks.stop
        )
        return ShardRun(task, resume, on_checkpoint=lambda result: saved.save_checkpoint(index, result))
