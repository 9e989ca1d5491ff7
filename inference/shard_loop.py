"""The one loop that drives the engine: it begins the shards that a source has, and hands their outcomes to a sink.

The worker, `tessera run` and `run_shard` bring a source and a sink each. Leases, drains, the watchdog's pulse, metrics
and progress are the business of these two; checkpoints are written by each `ShardRun`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final, Protocol

from inference.engine import Engine
from inference.shard_run import Drained, ShardRun
from inference.shard_task import ShardTask
from inference.stages.values import Ended, Outputs
from wsi.results.shard_result import ShardResult

#: The shard in the model, and the next one, whose tiles are fetched and decoded meanwhile: the device goes from one to
#: the other without a gap.
SHARDS_IN_FLIGHT: Final = 2
#: Seconds between calls of the source while nothing comes out of the engine.
POLL_SECONDS: Final = 0.05


class ShardSource(Protocol):
    """A supply of shards for the loop."""

    def take_next(self, *, wait: bool) -> ShardRun | None:
        """Return the next shard to compute, or None if there is none now.

        `wait` is set while no shard is in flight: the source may block then until it has a shard, and None ends the
        loop. What this raises ends the loop too.
        """
        ...


class ShardSink:
    """Receives the outcomes of shards on the loop's thread: exactly one of finished, stopped and failed for each shard
    that was not dropped. What a method raises ends the loop. Callers override the methods that they need."""

    def on_step(self, run: ShardRun) -> None:
        """Note that the engine made progress with the shard. Called before its outputs or its end are handled."""

    def on_batch(self, run: ShardRun, outputs: Outputs) -> None:
        """Note that a batch finished tiles of the shard; a checkpoint that was due is written."""

    def on_finished(self, run: ShardRun, result: ShardResult) -> None:
        """Take the result of a shard, which has every tile."""

    def on_stopped(self, run: ShardRun) -> None:
        """Note that the task's `stop` ended the shard; a checkpoint holds its finished tiles."""

    def on_failed(self, run: ShardRun, error: Exception) -> None:
        """Take the error of the slide, the model or a checkpoint that ended the shard."""


class ShardLoop:
    """Keeps an engine at work. Anyone may call `drop_all`; `run` is for one thread."""

    def __init__(self, engine: Engine, source: ShardSource, sink: ShardSink) -> None:
        self._engine = engine
        self._source = source
        self._sink = sink
        self._in_flight: dict[ShardTask, ShardRun] = {}
        self._lock = threading.Lock()

    def run(self) -> None:
        """Compute shards until none is in flight and the source has none.

        Raises what the source, the sink or a stage of the engine raises; the shards in flight are dropped then.
        """
        try:
            while self._begin_shards():
                event = self._engine.wait_for_event(POLL_SECONDS)
                run = None if event is None else self._in_flight.get(event.task)
                if event is None or run is None:  # nothing yet, or of a shard that was dropped
                    continue
                self._sink.on_step(run)
                if isinstance(event, Ended):
                    self._end(run, event)
                else:
                    self._add(run, event)
        except BaseException:
            self.drop_all()
            raise

    def drop_all(self) -> Sequence[ShardRun]:
        """Stop computing the shards in flight, and return them. The sink gets no call for them that has not begun."""
        with self._lock:
            dropped = list(self._in_flight.values())
            self._in_flight.clear()
        for run in dropped:
            run.task.ended.set()
        return dropped

    def _begin_shards(self) -> bool:
        """Fill the engine from the source. Return whether a shard is in flight."""
        while len(self._in_flight) < SHARDS_IN_FLIGHT:
            run = self._source.take_next(wait=not self._in_flight)
            if run is None:
                break
            with self._lock:
                self._in_flight[run.task] = run
            if len(run.task.tiles):
                self._engine.begin(run.task)
            else:  # an earlier attempt computed all of it
                self._sink.on_step(run)
                self._end(run, Ended(run.task))
        return bool(self._in_flight)

    def _add(self, run: ShardRun, outputs: Outputs) -> None:
        try:
            run.add(outputs)
        except Exception as error:  # noqa: BLE001  # the border of a shard: the sink decides
            run.task.ended.set()
            self._forget(run)
            self._sink.on_failed(run, error)
        else:
            self._sink.on_batch(run, outputs)

    def _end(self, run: ShardRun, ended: Ended) -> None:
        try:
            result = run.end(ended)
        except Drained:
            self._sink.on_stopped(run)
        except Exception as error:  # noqa: BLE001  # as above
            self._sink.on_failed(run, error)
        else:
            self._sink.on_finished(run, result)
        self._forget(run)

    def _forget(self, run: ShardRun) -> None:
        with self._lock:
            self._in_flight.pop(run.task, None)
