"""The shards of one slide in this process: computed one behind the other without a gap, each saved as it ends."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from client.partial import Partial
from gpu_worker.engine import Engine
from gpu_worker.measuring import Measuring
from gpu_worker.models.loaded import LoadedModel
from gpu_worker.pipeline import Drained, ShardRun
from gpu_worker.stages.values import Ended
from gpu_worker.work import Work
from wsi.model_card import ModelCard
from wsi.plan import Plan
from wsi.slide.scratch import OnCopy
from wsi.slide.slide import SlideReader

#: Shards that are begun and not ended: the one in the model, and the next, whose tiles are fetched and decoded.
BEGUN = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelToRun:
    loaded: LoadedModel
    device: str  #: "cpu" | "cuda"
    threads: int  #: CPU threads of the model

    @property
    def card(self) -> ModelCard:
        return self.loaded.card


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """How a run is seen and stopped from outside."""

    stop: threading.Event
    on_planned: Callable[[int], None]  #: tiles of the slide
    on_tiles: Callable[[int], None]  #: tiles finished since the last call; resumed ones too
    on_copy: OnCopy  #: the copy of a remote slide that only OpenSlide reads


def compute_shards(
    plan: Plan,
    reader: SlideReader,
    measuring: Measuring,
    partial: Partial,
    model: ModelToRun,
    engine: Engine,
    watched: Watched,
) -> None:
    """Every shard's result in `partial`. Raises every error as it is, and KeyboardInterrupt once `watched.stop` is set,
    after the last checkpoints."""
    waiting: deque[int] = deque()
    for index, size in enumerate(plan.shard_sizes):
        if partial.finished(index):
            watched.on_tiles(size)
        else:
            waiting.append(index)
    begun: dict[Work, tuple[ShardRun, float]] = {}
    whole = True
    try:
        while waiting or begun:
            while waiting and len(begun) < BEGUN and not watched.stop.is_set():
                run = _begin(plan, waiting.popleft(), reader, partial, model, watched)
                begun[run.work] = run, time.monotonic()
                if len(run.work.tiles):
                    engine.begin(run.work)
                else:
                    _save(partial, begun.pop(run.work), measuring, Ended(run.work))
            if not begun:
                break
            event = engine.next()
            if event is None or event.work not in begun:  # of a slide before, which an error ended
                continue
            if isinstance(event, Ended):
                whole &= _save(partial, begun.pop(event.work), measuring, event)
            else:
                begun[event.work][0].add(event)
                watched.on_tiles(event.count)
    except BaseException:
        for work in begun:
            work.ended.set()  # nothing more of them is computed
        raise
    if waiting or not whole:
        raise KeyboardInterrupt


def _begin(
    plan: Plan, index: int, reader: SlideReader, partial: Partial, model: ModelToRun, watched: Watched
) -> ShardRun:
    resume = partial.checkpoint(index)
    if resume is not None:
        watched.on_tiles(resume.done)
    work = Work.of(plan, index, reader, model.loaded, resume=resume, stop=watched.stop)
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
