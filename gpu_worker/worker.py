"""The worker: takes shards, has them computed, settles them, until there is no work or it is told to leave.

It holds at most two leases. The second is taken, and its slide and model opened, when half of the first shard is done,
so that a worker with little left does not hoard what an idle one could begin; it is begun behind the first, so that the
device goes from one to the other without a gap.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from adapters.settings import processes
from gpu_worker.computed import Spent
from gpu_worker.decoding.choice import decoders_for
from gpu_worker.drain import Drain, leaves
from gpu_worker.energy import device_energy
from gpu_worker.engine import Engine
from gpu_worker.health import Served, State
from gpu_worker.heartbeat import Heartbeats, Held
from gpu_worker.intake import Intake
from gpu_worker.metrics import Model, ShardMetrics
from gpu_worker.packages import Models
from gpu_worker.pipeline import Drained
from gpu_worker.plans import Plans
from gpu_worker.preparing import Prepared, Preparing
from gpu_worker.pulse import Pulse
from gpu_worker.settlement import Message, settlement
from gpu_worker.stages.values import Ended, Outputs
from gpu_worker.watchdog import EXIT_CODE, Watchdog
from gpu_worker.work import Work
from wsi.errors import Stuck
from wsi.notices import wake
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects, SlideStore
from wsi.ports.queues import Queues

log = logging.getLogger(__name__)

#: Seconds before work is given back, or asked for again, when S3 or Postgres does not answer.
RETRY_SECONDS = 5.0
#: Polls that may fail in a row: Postgres needs up to two minutes to fail over.
MAX_FAILED_POLLS = 24
#: Seconds between looks at the intake while a shard is computed, and at the drain while there is none.
GLANCE = 0.05


class _Unprepared(Exception):
    """What kept a leased shard from being begun is its cause."""

    def __init__(self, held: Held) -> None:
        super().__init__()
        self.held = held


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
        self._drain = drain
        self._pulse = Pulse(settings.stuck_seconds)
        self._plans = Plans(
            objects=objects,
            slides=slides,
            scratch=Path(settings.scratch),
            max_scratch_bytes=settings.max_scratch_bytes,
            device=settings.device,
        )
        self._models = Models(
            packages=packages,
            bucket=settings.models_bucket,
            cache=Path(settings.model_cache),
            device=settings.device,
            on_phase=lambda card, phase, seconds: self._metrics.started(phase, seconds, Model(card.name, card.version)),
        )
        self._preparing = Preparing(
            plans=self._plans,
            models=self._models,
            ledger=ledger,
            objects=objects,
            checkpoint_seconds=settings.checkpoint_seconds,
            checkpoint_batches=settings.checkpoint_batches,
            # Progress waits in the outbox.
            on_checkpoint=lambda held: wake(queues, traceparent=held.lease.job.traceparent),
            beat=self._pulse.beat,
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
        self._next: Future[Prepared | None] | None = None
        #: Leased shards until somebody settles them: this thread, or the watchdog's.
        self._shards: dict[Work, Prepared] = {}
        self._claiming = threading.Lock()
        self._exit_code: int | None = None
        self._before = self._spent = Spent()  #: of the stages: when the shard before ended; since then
        self._engine: Engine | None = None
        self._watchdog = Watchdog(self._pulse, stage=lambda: self._engine.hanging if self._engine else None)
        self._metrics = ShardMetrics(lambda: self._heartbeats.count)
        self._metrics.watch(state=lambda: self.state, pulse=self._pulse)
        joules = device_energy(settings.device)
        if joules is not None:
            self._metrics.count_energy(joules)

    @property
    def state(self) -> State:
        if self._drain.requested:
            return State.LEAVING
        return State.RUNNING if self._shards else State.WAITING

    @property
    def is_alive(self) -> bool:
        """False: only a new process helps, since leases are no longer extended or the work is stuck."""
        return self._heartbeats.beats and self._exit_code is None and not (self._shards and self._pulse.is_stuck)

    def exposition(self) -> bytes:
        """The metrics, in Prometheus' text format."""
        return self._metrics.exposition()

    def models(self) -> Sequence[Served]:
        """That are loaded."""
        return self._models.served

    def run(self) -> int:
        """The process's exit status, 0 when it was told to leave or had no work for `idle_seconds`; it holds no lease
        then. Raises what the queues or the ledger raise when they stay away."""
        self._heartbeats.start()
        self._watchdog.start()
        settings = self._settings
        decoders, budget = decoders_for(settings.device, settings.decode_workers, isolated=settings.decode_in_processes)
        try:
            with Engine(decoders, budget) as engine:
                self._engine = engine
                self._before = engine.spent
                self._run(engine)
        finally:
            self._leave()
            decoders.close()
            self._watchdog.end()
        return self._exit_code or 0

    def _run(self, engine: Engine) -> None:
        idle_for, failed_polls = 0.0, 0
        while not self._exit_code:
            if self._shards:
                with self._watchdog.over(self._settle_stuck):
                    self._compute(engine)
                idle_for = 0.0
                continue
            self._pulse.beat()
            if leaves(draining=self._drain.requested, idle_for=idle_for, idle_seconds=self._settings.idle_seconds):
                return
            began, came = time.monotonic(), False
            try:
                came = self._begin_next(engine, wait=True)  # what was asked for while the last shard was computed
                if not came:
                    self._take_ahead()
                    came = self._begin_next(engine, wait=True)
                failed_polls = 0
            except Exception:  # a process border: a failover of Postgres must not cost every warm GPU
                failed_polls += 1
                self._metrics.failed_polls.inc()
                if failed_polls > MAX_FAILED_POLLS:
                    raise
                log.warning("no answer to a poll", exc_info=True)
                self._drain.wait(RETRY_SECONDS)
            asked_for = time.monotonic() - began
            idle_for = 0.0 if came else idle_for + asked_for  # asking in vain: it never leaves without having asked
            self._metrics.idle_seconds.inc(asked_for)

    def _compute(self, engine: Engine) -> None:
        """Until no shard is left."""
        while self._shards:
            event = engine.next(GLANCE)
            if isinstance(event, Outputs):
                self._add(event)
            elif event is not None:
                self._end(event, engine.spent)
            if self._wants_next():
                self._take_ahead()
            try:
                self._begin_next(engine, wait=False)
            except Exception:  # a process border: asked again when this shard is done
                log.warning("no answer to a poll", exc_info=True)

    def _wants_next(self) -> bool:
        """Half of the one shard that is computed is done."""
        if self._next is not None or self._drain.requested or len(self._shards) != 1:
            return False
        (shard,) = self._shards.values()
        return shard.run.done * 2 >= shard.held.lease.tiles

    def _take_ahead(self) -> None:
        if self._next is None:
            self._next = self._taker.submit(self._take)

    def _take(self) -> Prepared | None:
        """On the intake's thread. One round over the queues, and the shard that it gave made ready. Raises _Unprepared
        with its cause, and what queues and ledger raise."""
        held = self._intake.take()
        if held is None:
            return None
        try:
            return self._preparing.prepare(held)
        except Exception as error:
            raise _Unprepared(held) from error

    def _begin_next(self, engine: Engine, *, wait: bool) -> bool:
        """Begins the shard that was taken ahead, or settles it if it can not be begun; False: none was taken, or it is
        not ready yet. Raises what queues and ledger raise."""
        if self._next is None or not (wait or self._next.done()):
            return False
        taken, self._next = self._next, None
        try:
            shard = taken.result()
        except _Unprepared as error:
            self._settle(error.held, error.__cause__ if isinstance(error.__cause__, Exception) else error)
            return True
        if shard is None:
            return False
        if self._drain.requested or self._exit_code:
            self._settle(shard.held, Drained())
            return True
        self._pulse.beat()
        self._shards[shard.run.work] = shard
        if len(shard.run.work.tiles):
            engine.begin(shard.run.work)
        else:  # the attempt before computed all of it and did not come to commit it
            self._end(Ended(shard.run.work), engine.spent)
        return True

    def _add(self, outputs: Outputs) -> None:
        shard = self._shards.get(outputs.work)
        if shard is None:
            return
        self._pulse.beat()
        try:
            shard.run.add(outputs)
        except Exception as error:  # noqa: BLE001  # the border of a shard: `settlement` decides, `_settle` logs
            outputs.work.ended.set()
            self._finish(shard, error)

    def _end(self, ended: Ended, spent: Spent) -> None:
        shard = self._shards.get(ended.work)
        if shard is None:
            return
        self._pulse.beat()
        self._spent, self._before = spent - self._before, spent
        error: Exception | None = None
        began = time.monotonic()
        try:
            took = shard.commit(ended).measured
            if took is not None:
                self._metrics.read(took.requests, took.bytes)
        except Exception as caught:  # noqa: BLE001  # as above
            error = caught
        self._finish(shard, error, committed=time.monotonic() - began)

    def _finish(self, shard: Prepared, error: Exception | None, *, committed: float = 0.0) -> None:
        """Counts and settles a shard, unless the watchdog did."""
        with self._claiming:
            if self._shards.pop(shard.run.work, None) is None:
                return
        model = _model(shard.held)
        computed = shard.run.computed().told(self._spent, committed=committed)
        self._metrics.computed(computed, model)
        self._metrics.took(time.monotonic() - shard.since, model)
        log.info(
            "shard computed" if error is None else "shard ended",
            extra={
                **shard.held.log_fields,
                "tiles": computed.inferred + computed.unreadable,
                "seconds": round(computed.seconds, 3),
                "gpu_busy_ratio": round(computed.stage_seconds["forward"] / computed.seconds, 4)
                if computed.seconds
                else None,
                "padded": computed.padded,
            },
        )
        self._settle(shard.held, error)

    def _settle_stuck(self, error: Stuck) -> None:
        """On the watchdog's thread. The stages can not be trusted any more, so the process ends."""
        with self._claiming:
            stuck, self._shards = list(self._shards.values()), {}
        self._exit_code = EXIT_CODE
        for shard in stuck:
            shard.run.work.ended.set()
            self._settle(shard.held, error)

    def _settle(self, held: Held, error: Exception | None) -> None:
        """Carries out what `settlement` decides; if that fails, the lease runs out and the sweep puts it right."""
        decided = settlement(error)
        self._metrics.ended(decided.outcome, _model(held), code=decided.code)
        fields = {**held.log_fields, "reason": decided.reason}
        if error is None:
            log.info("shard committed", extra=held.log_fields)
        elif decided.failed or decided.job_failure:
            log.error("shard failed", exc_info=error, extra=fields)
        else:
            log.warning("shard given up", extra=fields)
        if decided.refuse:
            self._intake.refuse(held.lease.job)
        if decided.leave:
            self._exit_code = EXIT_CODE
        if decided.later:
            self._drain.wait(RETRY_SECONDS)
        try:
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
        except Exception:  # a process border
            log.exception("shard not settled", extra=held.log_fields)

    def _leave(self) -> None:
        """Gives back what was taken and not begun, or not finished since the stages broke, and closes what is open."""
        self._taker.shutdown(wait=True)  # a poll in flight ends within its wait
        taken, self._next = self._next, None
        unfinished = [shard.held for shard in self._shards.values()]
        if taken is not None:
            error = taken.exception()
            if isinstance(error, _Unprepared):
                self._settle(error.held, error.__cause__ if isinstance(error.__cause__, Exception) else error)
            elif error is None and (shard := taken.result()) is not None:
                unfinished.append(shard.held)
        self._shards.clear()
        for held in unfinished:
            self._settle(held, Drained())
        self._heartbeats.end()
        self._plans.close()


def _model(held: Held) -> Model:
    return Model(held.lease.job.model, held.lease.job.model_version)
