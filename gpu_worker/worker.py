"""The worker: it takes shards, has them computed and settles them, until there is no work or it is told to leave.
Between shards it tries model packages that were added.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from adapters.settings import processes
from gpu_worker.drain import Drain, should_leave
from gpu_worker.health.metrics import Model, ShardMetrics
from gpu_worker.health.pulse import Pulse
from gpu_worker.health.server import ServedModel, State
from gpu_worker.health.watchdog import Watchdog
from gpu_worker.leases.heartbeat import Heartbeats
from gpu_worker.leases.intake import Intake
from gpu_worker.packages import ModelCache
from gpu_worker.plans import PlanCache
from gpu_worker.shard_port import ShardPort
from gpu_worker.shard_preparer import ShardPreparer
from gpu_worker.shard_settler import ShardSettler
from gpu_worker.shard_spans import ShardSpans
from gpu_worker.trials.trials import Trials
from gpu_worker.waits import WorkerWaits
from inference.decoder_choice import choose_decoders
from inference.energy import find_device_meter
from inference.engine import Engine
from inference.models.registry import load_guarded, load_model
from wsi.notices.outbox import wake
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects, SlideStore
from wsi.ports.queues import Queues
from wsi.ports.tracing import NO_TRACER, Tracer
from wsi.slide.files.scratch import ScratchSpace

log = logging.getLogger(__name__)

#: Polls that may fail in a row: Postgres needs up to two minutes to fail over.
MAX_FAILED_POLLS = 24
#: That the last spans may take at the end.
FLUSH_SECONDS = 3.0


class Worker:
    """A worker with its parts. `run` is for the main thread; the health port reads the rest from any."""

    def __init__(
        self,
        settings: processes.WorkerSettings,
        *,
        ledger: SystemLedger,
        queues: Queues,
        objects: Objects,
        slides: SlideStore,
        packages: Objects,
        drain: Drain,
        waits: WorkerWaits | None = None,
        tracer: Tracer = NO_TRACER,
    ) -> None:
        """Make the worker's parts. `objects`: the results bucket; `packages`: the models bucket."""
        self._settings = settings
        self._drain = drain
        self._tracer = tracer
        spans = ShardSpans(tracer)
        self._waits = waits = waits or WorkerWaits()
        self._engine: Engine | None = None
        self._pulse = Pulse(settings.stuck_seconds)
        self._heartbeats = Heartbeats(ledger=ledger, queues=queues, lease_seconds=settings.lease_seconds)
        self._metrics = ShardMetrics(lambda: self._heartbeats.count)
        self._plans = PlanCache(
            ledger=ledger,
            objects=objects,
            slides=slides,
            scratch=ScratchSpace(Path(settings.scratch), settings.max_scratch_bytes),
            device=settings.device,
        )
        load = load_guarded if settings.lock_models else load_model
        self._models = ModelCache(
            packages=packages,
            bucket=settings.models_bucket,
            cache=Path(settings.model_cache),
            device=settings.device,
            load=load,
            on_phase=lambda card, phase, seconds: self._metrics.set_cold_start(
                phase, seconds, Model(card.name, card.version)
            ),
        )
        intake = Intake(
            ledger=ledger,
            queues=queues,
            heartbeats=self._heartbeats,
            drain=drain,
            owner=f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}",
            lease_seconds=settings.lease_seconds,
            poll_seconds=waits.poll,
            on_lease=lambda leased, received: spans.record_lease(leased, received=received),
        )
        self._port = ShardPort(
            intake=intake,
            preparer=ShardPreparer(
                plans=self._plans,
                models=self._models,
                ledger=ledger,
                objects=objects,
                checkpoint_seconds=settings.checkpoint_seconds,
                checkpoint_batches=settings.checkpoint_batches,
                # Progress waits in the outbox.
                on_checkpoint=lambda leased: wake(queues, traceparent=leased.lease.job.traceparent),
                beat=self._pulse.beat,
                spans=spans,
            ),
            settler=ShardSettler(
                ledger=ledger,
                queues=queues,
                intake=intake,
                metrics=self._metrics,
                drain=drain,
                retry_seconds=waits.retry,
                spans=spans,
            ),
            metrics=self._metrics,
            pulse=self._pulse,
            drain=drain,
            spans=spans,
        )
        self._trials = Trials(
            ledger=ledger,
            queues=queues,
            packages=packages,
            bucket=settings.models_bucket,
            scratch=Path(settings.scratch),
            device=settings.device,
            load=load,
            drain=drain,
            beat=self._pulse.beat,
            waits=waits,
        )
        self._watchdog = Watchdog(self._pulse, stage=lambda: self._engine.stalled_stage if self._engine else None)
        self._metrics.watch(state=lambda: self.state, pulse=self._pulse)
        self._metrics.count_lost_spans(lambda: tracer.lost)
        joules = find_device_meter(settings.device)
        if joules is not None:
            self._metrics.count_energy(joules)

    @property
    def state(self) -> State:
        """Return the worker's activity, for health and metrics."""
        if self._drain.requested:
            return State.LEAVING
        return State.RUNNING if self._port.has_shards or self._port.trial else State.WAITING

    @property
    def is_alive(self) -> bool:
        """Return whether the work makes progress. If not, only a new process helps: leases are not extended, or the
        work is stuck."""
        stuck = self._port.has_shards and self._pulse.is_stuck
        return self._heartbeats.beats and self._port.exit_code is None and not stuck

    def format_metrics(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return self._metrics.format_metrics()

    def list_models(self) -> Sequence[ServedModel]:
        """Return the models loaded in this process."""
        return self._models.served

    def run(self) -> int:
        """Compute shards until told to leave, or idle for `idle_seconds`. Return the process's exit status, 0 in these
        two cases.

        It holds no lease then. Raises the error of the queues or the ledger once more than `MAX_FAILED_POLLS` polls in
        a row failed.
        """
        self._heartbeats.start()
        self._watchdog.start()
        settings = self._settings
        decoders, budget = choose_decoders(
            settings.device, settings.decode_workers, isolated=settings.decode_in_processes
        )
        try:
            with Engine(decoders, budget, join_seconds=self._waits.stages) as engine:
                self._engine = engine
                self._port.attach(engine)
                self._run()
        finally:
            self._port.close()
            self._heartbeats.end()
            self._plans.close()
            decoders.close()
            self._watchdog.end()
            self._tracer.flush(FLUSH_SECONDS)
        return self._port.exit_code or 0

    def _run(self) -> None:
        port = self._port
        idle_for, failed_polls = 0.0, 0
        while not port.exit_code:
            if port.has_shards:
                with self._watchdog.watch(port.drop_stuck):
                    port.compute()
                idle_for = 0.0
                continue
            self._pulse.beat()
            if port.trial is not None and not self._drain.requested:
                self._models.release()
                self._trials.run(port.trial)
                port.trial, idle_for = None, 0.0
                continue
            if should_leave(
                draining=self._drain.requested, idle_for=idle_for, idle_seconds=self._settings.idle_seconds
            ):
                return
            began, found = time.monotonic(), False
            try:
                found = port.wait_for_shard()
                failed_polls = 0
            except Exception:  # a process border: a failover of Postgres must not cost every warm GPU
                failed_polls += 1
                self._metrics.failed_polls.inc()
                if failed_polls > MAX_FAILED_POLLS:
                    raise
                log.warning("no answer to a poll", exc_info=True)
                self._drain.wait(self._waits.retry)
            asked_for = time.monotonic() - began
            # Only polls that found nothing count: a worker never leaves without one.
            idle_for = 0.0 if found else idle_for + asked_for
            self._metrics.idle_seconds.inc(asked_for)
