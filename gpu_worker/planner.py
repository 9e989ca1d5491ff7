"""Plans large slides and puts large results together, one job at a time, on processors only.

A function has minutes and ten gigabytes of disk; this process has as much as its pod. Interrupted work leaves nothing
half done: its message is delivered again, and the next receiver begins anew.
"""

from __future__ import annotations

import logging
import threading
import time
from enum import StrEnum
from pathlib import Path
from typing import Final
from uuid import UUID

from adapters.settings import processes
from adapters.settings.queues import HEAVY, RECEIVES
from gpu_worker.drain import Drain, should_leave
from gpu_worker.health.metrics import PlanMetrics
from gpu_worker.health.pulse import Pulse
from gpu_worker.health.server import State
from gpu_worker.hidden_message import HiddenMessage
from inference.shard_run import Drained
from wsi.jobs.heavy import advance_job, give_up_job
from wsi.notices.outbox import wake
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects, SlideStore
from wsi.ports.queues import Queues
from wsi.ports.tracing import NO_TRACER, Tracer
from wsi.records.notices import MESSAGE_SCHEMA, QueueMessage
from wsi.records.spans import SpanAttributes, SpanKind
from wsi.slide.files.scratch import ScratchSpace, throttle_to_tenths
from wsi.spans import OpenSpan, record_wait, with_span

log = logging.getLogger(__name__)

#: Seconds that a plan gets to end once the process must leave: a plan that is given back starts over elsewhere.
DRAIN_SECONDS: Final = 60.0
#: A plan that takes longer is stuck: /v2/health/live reports it, and the message is delivered again elsewhere.
STUCK_SECONDS: Final = 2 * 3600.0
POLL_SECONDS: Final = 5.0
RETRY_SECONDS: Final = 5.0
#: Polls that may fail in a row.
MAX_FAILED_POLLS = 24


class PlanOutcome(StrEnum):
    """The end of a plan, for the metrics: `adapters.settings.worker_metrics.PLANS` explains each."""

    DONE = "done"
    RETURNED = "returned"
    FAILED = "failed"
    GIVEN_UP = "given_up"


class HeavyPlanner:
    """The planner of large slides. `run` is for the main thread; the health port reads the rest from any."""

    def __init__(
        self,
        settings: processes.HeavySettings,
        *,
        ledger: SystemLedger,
        queues: Queues,
        objects: Objects,
        slides: SlideStore,
        drain: Drain,
        poll_seconds: float = POLL_SECONDS,
        drain_seconds: float = DRAIN_SECONDS,
        stuck_seconds: float = STUCK_SECONDS,
        tracer: Tracer = NO_TRACER,
    ) -> None:
        """Prepare the planner. `objects`: the results bucket."""
        self._settings = settings
        self._ledger = ledger
        self._queues = queues
        self._objects = objects
        self._slides = slides
        self._drain = drain
        self._tracer = tracer
        self._poll_seconds, self._drain_seconds = poll_seconds, drain_seconds
        self._is_planning = False
        self._failed_polls = 0
        self._pulse = Pulse(stuck_seconds)
        self._metrics = PlanMetrics(tuple(PlanOutcome))
        self._metrics.count_lost_spans(lambda: tracer.lost)
        self._metrics.watch(state=lambda: self.state, pulse=self._pulse)

    @property
    def state(self) -> State:
        if self._drain.requested:
            return State.LEAVING
        return State.RUNNING if self._is_planning else State.WAITING

    @property
    def is_alive(self) -> bool:
        return not self._pulse.is_stuck

    def format_metrics(self) -> bytes:
        return self._metrics.format_metrics()

    def run(self) -> None:
        """Plan slides until told to leave, or idle for `idle_seconds`. Raises the queue's error once more than
        `MAX_FAILED_POLLS` polls in a row failed."""
        idle_for = 0.0
        while self._may_take(idle_for):
            self._pulse.beat()
            began = time.monotonic()
            message = self._take()
            idle_for += (asked_for := time.monotonic() - began)
            self._metrics.idle_seconds.inc(asked_for)
            if message is not None:
                self._work(message)
                idle_for = 0.0

    def _may_take(self, idle_for: float) -> bool:
        return not should_leave(
            draining=self._drain.requested, idle_for=idle_for, idle_seconds=self._settings.idle_seconds
        )

    def _take(self) -> QueueMessage | None:
        try:
            messages = self._queues.receive(
                HEAVY, limit=1, wait_seconds=self._poll_seconds, visibility_seconds=self._settings.visibility_seconds
            )
        except Exception:  # a process border: a short outage of the queue is no reason to leave
            self._failed_polls += 1
            self._metrics.failed_polls.inc()
            if self._failed_polls > MAX_FAILED_POLLS:
                raise
            log.warning("no answer to a poll", exc_info=True)
            self._drain.wait(RETRY_SECONDS)
            return None
        self._failed_polls = 0
        return messages[0] if messages else None

    def _work(self, message: QueueMessage) -> None:
        job_id = _parse_job(message)
        if job_id is None:
            return
        fields = {"job": str(job_id), "receives": message.receives, "traceparent": message.traceparent}
        began, self._is_planning = time.monotonic(), True
        log.info("plan begun", extra=fields)
        try:
            with HiddenMessage(self._queues, HEAVY, message, seconds=self._settings.visibility_seconds) as hidden:
                outcome = self._plan(job_id, message)
            self._settle(outcome, job_id, hidden)
        except Exception:  # a process border: the message is delivered again when its visibility ends
            log.exception("plan failed", extra=fields)
            outcome = PlanOutcome.FAILED
        self._metrics.count_plan(outcome, time.monotonic() - began)
        log.info("plan ended", extra={**fields, "outcome": outcome.value})
        self._is_planning = False

    def _plan(self, job_id: UUID, message: QueueMessage) -> PlanOutcome:
        """Plan on a thread of its own, which ends with the process if it takes too long once the process must leave.
        Raises what planning raised, unless it was the last attempt."""
        errors: list[Exception] = []
        ended = threading.Event()
        report = throttle_to_tenths(
            lambda done, total: log.info("slide copied", extra={"job": str(job_id), "bytes": done})
        )

        def on_copy(done: int, total: int) -> None:
            if self._drain.requested:
                raise Drained
            report(done, total)

        def plan() -> None:
            try:
                with with_span(self._open_span(job_id, message)):
                    advance_job(
                        job_id,
                        ledger=self._ledger,
                        slides=self._slides,
                        objects=self._objects,
                        scratch=ScratchSpace(Path(self._settings.scratch), self._settings.max_scratch_bytes, on_copy),
                        shard_tiles=self._settings.shard_tiles,
                    )
            except Exception as error:  # noqa: BLE001  # a thread's border: it is raised below
                errors.append(error)
            finally:
                ended.set()

        planning = threading.Thread(target=plan, name="plan", daemon=True)
        self._drain.follow(ended)
        planning.start()
        ended.wait()
        planning.join(self._drain_seconds)
        self._drain.unfollow(ended)
        if planning.is_alive() or (errors and isinstance(errors[0], Drained)):
            return PlanOutcome.RETURNED
        if not errors:
            return PlanOutcome.DONE
        if message.receives < RECEIVES:
            raise errors[0]
        log.error("plan given up", exc_info=errors[0], extra={"job": str(job_id)})
        return PlanOutcome.GIVEN_UP

    def _open_span(self, job_id: UUID, message: QueueMessage) -> OpenSpan:
        """Record the message's wait, and return the span of the plan."""
        now = time.time()
        sent = message.sent_at.timestamp() if message.sent_at is not None else None
        described: SpanAttributes = {"job_id": str(job_id), "receives": message.receives}
        record_wait(
            self._tracer, HEAVY, f"queue {HEAVY}", parent=message.traceparent, began=sent, ended=now, **described
        )
        span = OpenSpan(self._tracer, HEAVY, "plan", parent=message.traceparent, kind=SpanKind.CONSUMER, began=now)
        span.describe(**described)
        return span

    def _settle(self, outcome: PlanOutcome, job_id: UUID, hidden: HiddenMessage) -> None:
        if outcome is PlanOutcome.RETURNED:
            return hidden.give_back()
        if outcome is PlanOutcome.GIVEN_UP:
            give_up_job(job_id, ledger=self._ledger)  # and the message goes to the dead-letter queue, for people
        wake(self._queues, traceparent=hidden.message.traceparent)
        if outcome is PlanOutcome.DONE:
            hidden.finish()
        return None


def _parse_job(message: QueueMessage) -> UUID | None:
    """Return the job that the message names; None to leave it to a newer process or the dead-letter queue."""
    try:
        schema, job_id = int(message.body["v"]), UUID(message.body["job_id"])
    except (AttributeError, KeyError, TypeError, ValueError):  # UUID(7) has no text to read
        log.error("malformed message left for the dead-letter queue")
        return None
    if schema > MESSAGE_SCHEMA:
        log.warning("message of a newer schema left for a newer process", extra={"schema": schema})
        return None
    return job_id
