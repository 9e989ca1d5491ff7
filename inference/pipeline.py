"""One shard from the first tile to its result, in one call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack, closing

from inference.decoder_choice import choose_decoders
from inference.engine import Engine
from inference.models.loaded import LoadedModel
from inference.shard_loop import ShardLoop, ShardSink
from inference.shard_run import Drained, ShardRun
from inference.shard_task import ShardTask
from inference.stages.values import Outputs
from wsi.planning.plan import Plan
from wsi.results.shard_result import ShardResult
from wsi.slide.slide import SlideReader


class _OneShard(ShardSink):
    """A source of one shard, and a sink that keeps its outcome."""

    def __init__(self, run: ShardRun, on_batch: Callable[[int], None]) -> None:
        self.result: ShardResult | None = None
        self._waiting = [run]
        self._on_batch = on_batch

    def take_next(self, *, wait: bool) -> ShardRun | None:
        return self._waiting.pop() if self._waiting else None

    def on_batch(self, run: ShardRun, outputs: Outputs) -> None:
        self._on_batch(outputs.count)

    def on_finished(self, run: ShardRun, result: ShardResult) -> None:
        self.result = result

    def on_stopped(self, run: ShardRun) -> None:
        raise Drained

    def on_failed(self, run: ShardRun, error: Exception) -> None:
        raise error


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
    on_batch: Callable[[int], None] = lambda tiles: None,
) -> ShardResult:
    """Return every tile of shard `shard_index`, inferred or unreadable with a reason, in the order of their numbers.

    `resume` holds tiles that an earlier run finished; they are not computed again. `on_checkpoint` gets all tiles
    finished so far, `on_batch` the number of tiles that one batch finished (not those resumed); both are called on the
    caller's thread. An error of any stage or callback ends the run at once and is raised as it is. `engine`: an idle
    one; without it one on the CPU is made, with `decode_workers` threads.

    Raises Drained once `stop` is set, after the batch in flight is finished and in a checkpoint; SourceError when
    the slide cannot be read; ValueError for a `resume` of another plan or shard.
    """
    task = ShardTask.from_plan(plan, shard_index, reader, model, resume=resume, stop=stop)
    run = ShardRun(
        task,
        resume,
        on_checkpoint=on_checkpoint,
        checkpoint_seconds=checkpoint_seconds,
        checkpoint_batches=checkpoint_batches,
    )
    shard = _OneShard(run, on_batch)
    with ExitStack() as made:
        if engine is None:
            decoders, budget = choose_decoders("cpu", decode_workers)
            made.enter_context(closing(decoders))
            engine = made.enter_context(Engine(decoders, budget))
        ShardLoop(engine, shard, shard).run()
    if shard.result is None:
        raise AssertionError("the loop ended without an outcome of its shard")
    return shard.result
