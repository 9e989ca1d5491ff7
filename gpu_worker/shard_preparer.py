"""Turns a lease into a run that the engine can begin: with plan, slide, model, and the checkpoint of an earlier
attempt. This happens on a thread of its own, while the shard before is computed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from gpu_worker.checkpoints import Checkpoints
from gpu_worker.leases.heartbeat import LeasedShard
from gpu_worker.packages import ModelCache
from gpu_worker.plans import PlanCache
from gpu_worker.shard_spans import ShardSpans
from inference.shard_meter import ShardMeter
from inference.shard_run import Drained, ShardRun
from inference.shard_task import ShardTask
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects
from wsi.results.shard_result import ShardResult
from wsi.slide.files.scratch import OnCopy, throttle_to_tenths
from wsi.spans import with_span, with_step

log = logging.getLogger(__name__)

#: A slide or a model that is there already gives no span.
CACHED_SECONDS = 0.005


@dataclass(eq=False, slots=True)
class PreparedShard:
    """A leased shard, ready to be computed."""

    leased: LeasedShard
    run: ShardRun
    checkpoints: Checkpoints
    meter: ShardMeter

    def commit(self, result: ShardResult) -> ShardResult:
        """Commit the result, and return it with its measurement. Raises LeaseLost."""
        result = self.meter.stop(result, began=self.run.began)
        self.checkpoints.commit(result)
        return result


class ShardPreparer:
    """Prepares shards, for one thread."""

    def __init__(
        self,
        *,
        plans: PlanCache,
        models: ModelCache,
        ledger: SystemLedger,
        objects: Objects,
        checkpoint_seconds: float,
        checkpoint_batches: int,
        on_checkpoint: Callable[[LeasedShard], None],
        beat: Callable[[], None],
        spans: ShardSpans,
    ) -> None:
        """Take the worker's parts. `beat` is called at each step of a long preparation; `on_checkpoint` once a
        checkpoint is recorded."""
        self._plans, self._models = plans, models
        self._ledger, self._objects = ledger, objects
        self._every = {"checkpoint_seconds": checkpoint_seconds, "checkpoint_batches": checkpoint_batches}
        self._on_checkpoint = on_checkpoint
        self._beat = beat
        self._spans = spans

    def prepare(self, leased: LeasedShard) -> PreparedShard:
        """Prepare a shard. Raises Drained if it is stopped meanwhile, and whatever keeps it from being computed."""
        with with_span(self._spans.open_part(leased, "prepare shard")):
            return self._prepare(leased)

    def _prepare(self, leased: LeasedShard) -> PreparedShard:
        lease = leased.lease
        log.info("shard leased", extra={**leased.log_fields, "tiles": lease.tiles})
        with with_step("open slide", least_seconds=CACHED_SECONDS):
            opened = self._plans.open(lease.job, self._copy_callback(leased))
        self._beat()
        with with_step("load model", least_seconds=CACHED_SECONDS):
            model = self._models.load(opened.plan)
        self._beat()
        checkpoints = Checkpoints(leased, opened.plan, ledger=self._ledger, objects=self._objects)
        resume = checkpoints.resume()
        task = ShardTask.from_plan(opened.plan, lease.index, opened.reader, model, resume=resume, stop=leased.stop)

        def record(result: ShardResult) -> None:
            checkpoints.record(result)
            self._on_checkpoint(leased)

        run = ShardRun(
            task,
            resume,
            on_checkpoint=record,
            checkpoint_seconds=self._every["checkpoint_seconds"],
            checkpoint_batches=int(self._every["checkpoint_batches"]),
        )
        return PreparedShard(leased, run, checkpoints, opened.meter)

    def _copy_callback(self, leased: LeasedShard) -> OnCopy:
        """Return a callback for the copy of a slide that only OpenSlide reads, which takes minutes. It beats, and ends
        the copy once the shard is stopped."""
        report = throttle_to_tenths(
            lambda done, total: log.info("slide copied", extra={**leased.log_fields, "bytes": done})
        )

        def on_copy(done: int, total: int) -> None:
            if leased.stop.is_set():
                raise Drained
            self._beat()
            report(done, total)

        return on_copy
