"""The worker: takes a shard, runs it, settles it, until there is no work or it is told to leave.

It holds at most two leases, the shard that runs and the next one; that is taken when half of the running shard is
done, so that a worker with little left does not hoard what an idle one could begin.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from adapters.settings import processes
from gpu_worker.checkpoints import Checkpoints
from gpu_worker.drain import Drain, Step, next_step
from gpu_worker.health import State
from gpu_worker.heartbeat import Heartbeats, Held
from gpu_worker.intake import Intake
from gpu_worker.measuring import measuring
from gpu_worker.metrics import ShardMetrics
from gpu_worker.packages import Models
from gpu_worker.pipeline import Drained, run_shard
from gpu_worker.plans import Plans
from gpu_worker.pulse import Pulse
from gpu_worker.settlement import Message, settlement
from wsi.notices import wake
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects, SlideStore
from wsi.ports.queues import Queues
from wsi.shard_result import ShardResult
from wsi.slide.scratch import OnCopy, in_tenths

log = logging.getLogger(__name__)

#: Seconds before work is given back, or asked for again, when S3 or Postgres does not answer.
RETRY_SECONDS = 5.0
#: Far above the longest honest step: fetching and compiling a large model, or copying a slide of 8 GiB.
STUCK_SECONDS = 1800.0
#: Polls that may fail in a row: Postgres needs up to two minutes to fail over.
MAX_FAILED_POLLS = 24


class Worker:
    def __init__(
        self,
        settings: processes.Worker,
        *,
        ledger: SystemLedger,
        queues: Queues,
        objects: Objects,
        slides: SlideStore,
        packages: Objects,
        drain: Drain,
    ) -> None:
        """`objects`: the results bucket; `packages`: the models bucket."""
        self._settings = settings
        self._ledger = ledger
        self._queues = queues
        self._objects = objects
        self._drain = drain
        self._plans = Plans(
            objects=objects,
            slides=slides,
            scratch=Path(settings.scratch),
            max_scratch_bytes=settings.max_scratch_bytes,
        )
        self._models = Models(
            packages=packages,
            bucket=settings.models_bucket,
            cache=Path(settings.model_cache),
            device=settings.device,
        )
        self._heartbeats = Heartbeats(ledger=ledger, queues=queues, lease_seconds=settings.lease_seconds)
        self._intake = Intake(
            ledger=ledger,
            queues=queues,
            heartbeats=self._heartbeats,
            drain=drain,
            owner=f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}",
            lease_seconds=settings.lease_seconds,
        )
        self._taker = ThreadPoolExecutor(1, thread_name_prefix="intake")
        self._next: Future[Held | None] | None = None
        self._running: Held | None = None
        self._pulse = Pulse(STUCK_SECONDS)
        self._metrics = ShardMetrics(lambda: self._heartbeats.count)
        self._metrics.watch(state=lambda: self.state, pulse=self._pulse)

    @property
    def state(self) -> State:
        if self._drain.requested:
            return State.LEAVING
        return State.RUNNING if self._running else State.WAITING

    @property
    def is_alive(self) -> bool:
        """False: only a new process helps, since leases are no longer extended or the work is stuck."""
        return self._heartbeats.beats and not self._pulse.is_stuck

    def exposition(self) -> bytes:
        """The metrics, in Prometheus' text format."""
        return self._metrics.exposition()

    def run(self) -> None:
        """Returns when it was told to leave or had no work for `idle_seconds`; it holds no lease then. Raises what
        the queues or the ledger raise when they stay away."""
        self._heartbeats.start()
        held: Held | None = None
        idle_since, failed_polls = time.monotonic(), 0
        try:
            while True:
                self._pulse.beat()
                step = next_step(
                    draining=self._drain.requested,
                    holds_shard=held is not None,
                    idle_for=time.monotonic() - idle_since,
                    idle_seconds=self._settings.idle_seconds,
                )
                if step is Step.LEAVE:
                    break
                if step is Step.RUN and held is not None:
                    self._work(held)
                    held, idle_since = None, time.monotonic()
                    continue
                began = time.monotonic()
                try:
                    held, failed_polls = self._take(), 0
                except Exception:  # a process border: a failover of Postgres must not cost every warm GPU
                    failed_polls += 1
                    self._metrics.failed_polls.inc()
                    if failed_polls > MAX_FAILED_POLLS:
                        raise
                    log.warning("no answer to a poll", exc_info=True)
                    self._drain.wait(RETRY_SECONDS)
                self._metrics.idle_seconds.inc(time.monotonic() - began)
        finally:
            self._leave(held)

    def _take(self) -> Held | None:
        """The shard that was taken ahead, else one round over the queues."""
        taken, self._next = self._next, None
        return (taken.result() if taken is not None else None) or self._intake.take()

    def _take_ahead(self) -> None:
        if self._next is not None and not self._next.done():
            return
        if self._next is None or (self._next.exception() is None and self._next.result() is None):
            self._next = self._taker.submit(self._intake.take)

    def _work(self, held: Held) -> None:
        self._running = held
        began = time.monotonic()
        error: Exception | None = None
        try:
            self._compute(held)
        except Exception as caught:  # noqa: BLE001  # the border of a shard: `settlement` decides, `_settle` logs
            error = caught
        try:
            self._settle(held, error)
        except Exception:  # a process border: the lease runs out and the sweep puts it right
            log.exception("shard not settled", extra=held.log_fields)
        self._metrics.took(time.monotonic() - began)
        self._running = None

    def _compute(self, held: Held) -> None:
        lease, settings = held.lease, self._settings
        log.info("shard leased", extra={**held.log_fields, "tiles": lease.tiles})
        opened = self._plans.open(lease.job, self._followed_copy(held))
        self._pulse.beat()
        model = self._models.load(opened.plan)
        self._pulse.beat()
        checkpoints = Checkpoints(held, opened.plan, ledger=self._ledger, objects=self._objects)
        measured = measuring(opened.reads, settings.device)
        resume = checkpoints.resume()
        done = resume.done if resume else 0

        def on_batch(count: int) -> None:
            nonlocal done
            self._pulse.beat()
            done += count
            if done * 2 >= lease.tiles:
                self._take_ahead()

        def record(result: ShardResult) -> None:
            checkpoints.record(result)
            wake(self._queues, traceparent=lease.job.traceparent)  # progress waits in the outbox

        result = run_shard(
            opened.plan,
            lease.index,
            opened.reader,
            model,
            resume=resume,
            on_checkpoint=record,
            checkpoint_seconds=settings.checkpoint_seconds,
            checkpoint_batches=settings.checkpoint_batches,
            decode_workers=settings.decode_workers,
            stop=held.stop,
            on_batch=on_batch,
            on_run=self._metrics.ran,
        )
        checkpoints.commit(measured(result))

    def _followed_copy(self, held: Held) -> OnCopy:
        """The copy of a slide that only OpenSlide reads takes minutes: it shows signs of life and ends when told."""
        tell = in_tenths(lambda done, total: log.info("slide copied", extra={**held.log_fields, "bytes": done}))

        def on_copy(done: int, total: int) -> None:
            if held.stop.is_set():
                raise Drained
            self._pulse.beat()
            tell(done, total)

        return on_copy

    def _settle(self, held: Held, error: Exception | None) -> None:
        """Carries out what `settlement` decides."""
        decided = settlement(error)
        self._metrics.ended(decided.outcome)
        fields = {**held.log_fields, "reason": decided.reason}
        if error is None:
            log.info("shard committed", extra=held.log_fields)
        elif decided.failed or decided.job_failure:
            log.error("shard failed", exc_info=error, extra=fields)
        else:
            log.warning("shard given up", extra=fields)
        if decided.later:
            self._drain.wait(RETRY_SECONDS)
        self._intake.let_go(held)
        if decided.job_failure is not None:
            self._ledger.fail_job(held.lease.job.id, decided.job_failure.reason, decided.job_failure.sentence)
        if decided.release:
            self._ledger.release_shard(held.lease, reason=decided.reason, failed=decided.failed)
        wake(self._queues, traceparent=held.lease.job.traceparent)
        if decided.message is Message.DELETE:
            self._intake.finish(held)
        elif decided.message is Message.RETURN:
            self._intake.give_back(held)

    def _leave(self, held: Held | None) -> None:
        """Gives back what was taken and not begun, and closes what is open."""
        self._taker.shutdown(wait=True)  # a poll in flight ends within its wait
        taken = self._next.result() if self._next is not None and self._next.exception() is None else None
        for unstarted in (held, taken):
            if unstarted is None:
                continue
            self._intake.let_go(unstarted)
            try:
                self._ledger.release_shard(unstarted.lease, reason="the worker is leaving", failed=False)
                wake(self._queues, traceparent=unstarted.lease.job.traceparent)
                self._intake.give_back(unstarted)
            except Exception:  # a process border: the lease runs out and the sweep puts it right
                log.exception("lease not given back", extra=unstarted.log_fields)
        self._heartbeats.end()
        self._plans.close()
