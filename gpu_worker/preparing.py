"""From a lease to work that the engine can begin: plan, slide, model, and what an earlier attempt left. On a thread of
its own, while the shard before is computed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gpu_worker.checkpoints import Checkpoints
from gpu_worker.heartbeat import Held
from gpu_worker.measuring import Measuring
from gpu_worker.packages import Models
from gpu_worker.pipeline import Drained, ShardRun
from gpu_worker.plans import Plans
from gpu_worker.stages.values import Ended
from gpu_worker.work import Work
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects
from wsi.shard_result import ShardResult
from wsi.slide.scratch import OnCopy, in_tenths

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Prepared:
    """A leased shard, ready to be computed."""

    held: Held
    run: ShardRun
    checkpoints: Checkpoints
    measuring: Measuring
    since: float = field(default_factory=time.monotonic)

    def commit(self, ended: Ended) -> ShardResult:
        """The shard's result, committed. Raises what ended the work, Drained, LeaseLost."""
        result = self.measuring.measured(self.run.end(ended), self.since)
        self.checkpoints.commit(result)
        return result


class Preparing:
    """For one thread."""

    def __init__(
        self,
        *,
        plans: Plans,
        models: Models,
        ledger: SystemLedger,
        objects: Objects,
        checkpoint_seconds: float,
        checkpoint_batches: int,
        on_checkpoint: Callable[[Held], None],
        beat: Callable[[], None],
    ) -> None:
        """`beat` is called for each step of a long way; `on_checkpoint` once a checkpoint is recorded."""
        self._plans, self._models = plans, models
        self._ledger, self._objects = ledger, objects
        self._every = {"checkpoint_seconds": checkpoint_seconds, "checkpoint_batches": checkpoint_batches}
        self._on_checkpoint = on_checkpoint
        self._beat = beat

    def prepare(self, held: Held) -> Prepared:
        """Raises Drained when it is told to stop meanwhile, and whatever keeps the shard from being computed."""
        lease = held.lease
        log.info("shard leased", extra={**held.log_fields, "tiles": lease.tiles})
        opened = self._plans.open(lease.job, self._followed_copy(held))
        self._beat()
        model = self._models.load(opened.plan)
        self._beat()
        checkpoints = Checkpoints(held, opened.plan, ledger=self._ledger, objects=self._objects)
        resume = checkpoints.resume()
        work = Work.of(opened.plan, lease.index, opened.reader, model, resume=resume, stop=held.stop)

        def record(result: ShardResult) -> None:
            checkpoints.record(result)
            self._on_checkpoint(held)

        run = ShardRun(
            work,
            resume,
            on_checkpoint=record,
            checkpoint_seconds=self._every["checkpoint_seconds"],
            checkpoint_batches=int(self._every["checkpoint_batches"]),
        )
        return Prepared(held, run, checkpoints, opened.measuring)

    def _followed_copy(self, held: Held) -> OnCopy:
        """The copy of a slide that only OpenSlide reads takes minutes: it shows signs of life and ends when told."""
        tell = in_tenths(lambda done, total: log.info("slide copied", extra={**held.log_fields, "bytes": done}))

        def on_copy(done: int, total: int) -> None:
            if held.stop.is_set():
                raise Drained
            self._beat()
            tell(done, total)

        return on_copy
