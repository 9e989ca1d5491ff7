"""A shard from the first tile to its result. Knows no queue and no database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing

from gpu_worker.computed import Computed
from gpu_worker.decoding.choice import decoders_for
from gpu_worker.engine import Engine
from gpu_worker.models.loaded import LoadedModel
from gpu_worker.stages.values import Ended, Outputs
from gpu_worker.stages.write import ResultWriter
from gpu_worker.work import Work
from wsi.plan import Plan
from wsi.shard_result import ShardResult
from wsi.slide.slide import SlideReader


class Drained(Exception):
    """The run was stopped. Its last checkpoint holds every finished tile, those of the batch in flight too."""


class ShardRun:
    """Gathers what comes out for one work: checkpoints on the way, the result at the end."""

    def __init__(
        self,
        work: Work,
        resume: ShardResult | None,
        *,
        on_checkpoint: Callable[[ShardResult], None] | None = None,
        checkpoint_seconds: float = 10.0,
        checkpoint_batches: int = 8,
    ) -> None:
        """`on_checkpoint` gets all tiles finished so far; what it raises, `add` and `end` raise."""
        self.work = work
        self._writer = ResultWriter(work.plan.digest, len(work.plan.card.columns), resume)
        self._resumed = self._saved = self._writer.done
        self._tiles = self._writer.done + len(work.tiles)
        self._on_checkpoint = on_checkpoint
        self._every = (checkpoint_seconds, checkpoint_batches)
        self._unsaved, self._saved_at = 0, time.monotonic()  # batches; when
        self._began = time.perf_counter()
        self._span: tuple[float, float] | None = None  # the first batch was handed over, the last one's scores came
        self._first: float | None = None  # first scores
        self._busy, self._batches, self._padded, self._unreadable = 0.0, 0, 0, 0
        self._writing = 0.0

    @property
    def done(self) -> int:
        """Tiles, those resumed too."""
        return self._writer.done

    def add(self, outputs: Outputs) -> None:
        self._writer.add(outputs)
        self._busy, self._padded = self._busy + outputs.seconds, self._padded + outputs.padded
        self._unreadable += len(outputs.unreadable)
        self._batches += bool(len(outputs.tiles))
        self._unsaved += 1
        if len(outputs.tiles):
            first = outputs.began if self._span is None else self._span[0]
            self._first = outputs.ended if self._first is None else self._first
            self._span = (first, outputs.ended)
        seconds, batches = self._every
        due = self._unsaved >= batches or time.monotonic() - self._saved_at >= seconds
        if due and self._writer.done < self._tiles:
            self._checkpoint()

    def end(self, ended: Ended) -> ShardResult:
        """Raises the error that ended the work; Drained, after a last checkpoint, when it was stopped."""
        if ended.error is not None:
            raise ended.error
        whole = self._writer.done == self._tiles
        if whole:
            return self._writer.result()
        if not self.work.stop.is_set():
            raise RuntimeError(f"{self._tiles - self._writer.done} of {self._tiles} tiles came to no result")
        if self._writer.done > self._saved:
            self._checkpoint()
        raise Drained

    def computed(self) -> Computed:
        """So far."""
        first, last = self._span or (0.0, 0.0)
        return Computed(
            inferred=self._writer.done - self._resumed - self._unreadable,
            unreadable=self._unreadable,
            batches=self._batches,
            padded=self._padded,
            seconds=last - first,
            stage_seconds={"forward": self._busy, "write": self._writing},
            first_tile_seconds=None if self._first is None else self._first - self._began,
        )

    def _checkpoint(self) -> None:
        began = time.perf_counter()
        if self._on_checkpoint is not None:
            self._on_checkpoint(self._writer.result())
        self._writing += time.perf_counter() - began
        self._saved, self._unsaved, self._saved_at = self._writer.done, 0, time.monotonic()


def run_shard(
    plan: Plan,
    shard_index: int,
    reader: SlideReader,
    model: LoadedModel,
    *,
    resume: ShardResult | None = None,
    on_checkpoint: Callable[[ShardResult], None] | None = None,
    checkpoint_seconds: float = 10.0,
    checkpoint_batches: int = 8,
    decode_workers: int = 2,
    engine: Engine | None = None,
    stop: threading.Event,
    on_batch: Callable[[int], None] | None = None,
    on_run: Callable[[Computed], None] | None = None,
) -> ShardResult:
    """Every tile of shard `shard_index`, inferred or unreadable with a reason, in the order of their numbers.

    `resume` holds tiles that an earlier run finished; they are not computed again. `on_checkpoint` gets all tiles
    finished so far, `on_batch` the number of tiles that one batch finished (not those resumed), `on_run` what the run
    took, unless an error ended it; all are called on the caller's thread. An error of any stage or callback ends the
    run at once and is raised as it is. `engine`: one that has nothing else to do; otherwise one on the CPU is made,
    with `decode_workers` threads.

    Raises Drained once `stop` is set, after the batch in flight is finished and in a checkpoint; SourceError when
    the slide can not be read; ValueError for a `resume` of another plan or shard.
    """
    work = Work.of(plan, shard_index, reader, model, resume=resume, stop=stop)
    run = ShardRun(
        work,
        resume,
        on_checkpoint=on_checkpoint,
        checkpoint_seconds=checkpoint_seconds,
        checkpoint_batches=checkpoint_batches,
    )
    if not len(work.tiles):
        return run.end(Ended(work))
    with ExitStack() as made:
        if engine is None:
            decoders, budget = decoders_for("cpu", decode_workers)
            made.enter_context(closing(decoders))
            engine = made.enter_context(Engine(decoders, budget))
        engine.begin(work)
        try:
            while not isinstance(event := engine.next(), Ended):
                if event is not None:
                    run.add(event)
                    if on_batch is not None:
                        on_batch(event.count)
        except BaseException:
            work.ended.set()  # an error of a callback: nothing more of it is computed
            raise
    if on_run is not None and event.error is None:
        on_run(run.computed())
    return run.end(event)
