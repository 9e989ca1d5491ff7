"""One shard's run through the engine: its outputs become checkpoints and then the shard's result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from inference.shard_stats import ShardStats
from inference.shard_task import ShardTask
from inference.stages.values import Ended, Outputs
from inference.stages.write import ResultWriter
from wsi.records.model_card import SCORES
from wsi.results.shard_result import ShardResult


class Drained(Exception):
    """The run was stopped. Its last checkpoint holds every finished tile, including the batch that was in flight."""


class ShardRun:
    """Collects the outputs of one task: checkpoints on the way, the result at the end."""

    def __init__(
        self,
        task: ShardTask,
        resume: ShardResult | None,
        *,
        on_checkpoint: Callable[[ShardResult], None] | None = None,
        checkpoint_seconds: float = 10.0,
        checkpoint_batches: int = 8,
    ) -> None:
        """Begin with the tiles of `resume`. `on_checkpoint` gets all tiles finished so far; `add` and `end` raise its
        errors."""
        self.task = task
        self.began = time.monotonic()
        self._writer = ResultWriter(task.plan, resume)
        self._resumed = self._saved = self._writer.done
        self._tiles = self._writer.done + len(task.tiles)
        self._on_checkpoint = on_checkpoint
        # A checkpoint holds all tiles so far. Of vectors and objects that is megabytes: only time makes one due.
        is_small = task.plan.card.output in SCORES
        self._every = (checkpoint_seconds, checkpoint_batches if is_small else math.inf)
        self._unsaved, self._saved_at = 0, time.monotonic()  # batches; when
        self._began = time.perf_counter()
        self._span: tuple[float, float] | None = None  # the first batch was handed over, the last one's scores came
        self._first: float | None = None  # first scores
        self._busy, self._batches, self._padded, self._unreadable = 0.0, 0, 0, 0
        self._writing = 0.0

    @property
    def done(self) -> int:
        """Return the number of finished tiles, including those resumed."""
        return self._writer.done

    def add(self, outputs: Outputs) -> None:
        """Take in one batch's outputs, and write a checkpoint if one is due."""
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
        """Return the shard's result.

        Raises the error that ended the task; Drained, after a last checkpoint, when it was stopped.
        """
        if ended.error is not None:
            raise ended.error
        if self._writer.done == self._tiles:
            began = time.perf_counter()
            result = self._writer.build_result()
            self._writing += time.perf_counter() - began
            return result
        if not self.task.stop.is_set():
            raise RuntimeError(f"{self._tiles - self._writer.done} of {self._tiles} tiles came to no result")
        if self._writer.done > self._saved:
            self._checkpoint()
        raise Drained

    def summarise(self) -> ShardStats:
        """Return what was computed so far."""
        first, last = self._span or (0.0, 0.0)
        return ShardStats(
            inferred=self._writer.done - self._resumed - self._unreadable,
            unreadable=self._unreadable,
            batches=self._batches,
            padded=self._padded,
            seconds=last - first,
            stage_seconds={"forward": self._busy, "write": self._writing},
            first_batch_seconds=None if self._span is None else max(0.0, first - self._began),
            first_tile_seconds=None if self._first is None else self._first - self._began,
        )

    def _checkpoint(self) -> None:
        began = time.perf_counter()
        if self._on_checkpoint is not None:
            self._on_checkpoint(self._writer.build_result())
        self._writing += time.perf_counter() - began
        self._saved, self._unsaved, self._saved_at = self._writer.done, 0, time.monotonic()
