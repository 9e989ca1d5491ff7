"""Plans of large slides, one at a time, on processors only.

A function has five minutes and ten gigabytes of disk; this has as much as its pod. A plan that is interrupted left
nothing half-done: its message comes again, and whoever gets it plans anew.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from uuid import UUID

from adapters.settings import processes
from adapters.settings.queues import HEAVY, RECEIVES
from gpu_worker.drain import Drain, leaves
from gpu_worker.health import State
from gpu_worker.metrics import PlanMetrics
from gpu_worker.pipeline import Drained
from gpu_worker.pulse import Pulse
from wsi.errors import LeaseLost
from wsi.notices import wake
from wsi.planning import give_up_plan, plan_job
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects, SlideStore
from wsi.ports.queues import Queues
from wsi.records.notices import MESSAGE_SCHEMA, QueueMessage
from wsi.slide.scratch import in_tenths

log = logging.getLogger(__name__)

#: Seconds that a plan gets to end once the process is to leave: one that is given back begins anew elsewhere.
DRAIN_SECONDS = 60.0
#: A plan that takes longer is stuck: /v2/health/live says so, and the message comes again elsewhere.
STUCK_SECONDS = 2 * 3600.0
POLL_SECONDS = 5.0
RETRY_SECONDS = 5.0
#: Polls that may fail in a row.
MAX_FAILED_POLLS = 24


class Outcome(StrEnum):
    """For the metrics, which say what each means: `adapters.settings.worker_metrics.PLANS`."""

    DONE = "done"
    RETURNED = "returned"
    FAILED = "failed"
    GIVEN_UP = "given_up"


class HeavyPlanner:
    def __init__(
        self,
        settings: processes.Heavy,
        *,
        ledger: SystemLedger,
        queues: Queues,
        objects: Objects,
        slides: SlideStore,
        drain: Drain,
    ) -> None:
        """`objects`: the results bucket."""
        self._settings = settings
        self._ledger = ledger
        self._queues = queues
        self._objects = objects
        self._slides = slides
        self._drain = drain
        self._plans = False
        self._failed_polls = 0
        self._pulse = Pulse(STUCK_SECONDS)
        self._metrics = PlanMetrics(tuple(Outcome))
        self._metrics.watch(state=lambda: self.state, pulse=self._pulse)

    @property
    def state(self) -> State:
        if self._drain.requested:
            return State.LEAVING
        return State.RUNNING if self._plans else State.WAITING

    @property
    def is_alive(self) -> bool:
        return not self._pulse.is_stuck

    def exposition(self) -> bytes:
        return self._metrics.exposition()

    def run(self) -> None:
        """Returns when it was told to leave or had no work for `idle_seconds`. Raises what the queue raises when it
        stays away."""
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
        return not leaves(draining=self._drain.requested, idle_for=idle_for, idle_seconds=self._settings.idle_seconds)

    def _take(self) -> QueueMessage | None:
        try:
            messages = self._queues.receive(
                HEAVY, limit=1, wait_seconds=POLL_SECONDS, visibility_seconds=self._settings.visibility_seconds
            )
        except Exception:  # a process border: a queue that is away for a moment is no reason to leave
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
        job_id = _job_of(message)
        if job_id is None:
            return
        fields = {"job": str(job_id), "receives": message.receives, "traceparent": message.traceparent}
        began, self._plans = time.monotonic(), True
        log.info("plan begun", extra=fields)
        try:
            with self._hidden(message):
                outcome = self._planned(job_id, message)
            self._settle(outcome, job_id, message)
        except Exception:  # a process border: the message comes again when its visibility ends
            log.exception("plan failed", extra=fields)
            outcome = Outcome.FAILED
        self._metrics.ended(outcome, time.monotonic() - began)
        log.info("plan ended", extra={**fields, "outcome": outcome.value})
        self._plans = False

    def _planned(self, job_id: UUID, message: QueueMessage) -> Outcome:
        """Plans on a thread of its own, which ends with the process when it takes too long for one that leaves. Raises
        what planning raised, unless it was the last try."""
        errors: list[Exception] = []
        ended = threading.Event()
        tell = in_tenths(lambda done, total: log.info("slide copied", extra={"job": str(job_id), "bytes": done}))

        def on_copy(done: int, total: int) -> None:
            if self._drain.requested:
                raise Drained
            tell(done, total)

        def plan() -> None:
            try:
                scratch = Path(self._settings.scratch)
                scratch.mkdir(parents=True, exist_ok=True)
                plan_job(
                    job_id,
                    ledger=self._ledger,
                    slides=self._slides,
                    objects=self._objects,
                    scratch=scratch,
                    max_scratch_bytes=self._settings.max_scratch_bytes,
                    shard_tiles=self._settings.shard_tiles,
                    on_copy=on_copy,
                )
            except Exception as error:  # noqa: BLE001  # a thread's border: it is raised below
                errors.append(error)
            finally:
                ended.set()

        planning = threading.Thread(target=plan, name="plan", daemon=True)
        self._drain.follow(ended)
        planning.start()
        ended.wait()
        planning.join(DRAIN_SECONDS)
        self._drain.unfollow(ended)
        if planning.is_alive() or (errors and isinstance(errors[0], Drained)):
            return Outcome.RETURNED
        if not errors:
            return Outcome.DONE
        if message.receives < RECEIVES:
            raise errors[0]
        log.error("plan given up", exc_info=errors[0], extra={"job": str(job_id)})
        return Outcome.GIVEN_UP

    def _settle(self, outcome: Outcome, job_id: UUID, message: QueueMessage) -> None:
        if outcome is Outcome.RETURNED:
            return self._give_back(message)
        if outcome is Outcome.GIVEN_UP:
            give_up_plan(job_id, ledger=self._ledger)  # and the message goes to the dead letters, for people
        wake(self._queues, traceparent=message.traceparent)
        if outcome is Outcome.DONE:
            self._queues.delete(HEAVY, message.receipt)
        return None

    @contextmanager
    def _hidden(self, message: QueueMessage) -> Iterator[None]:
        """Keeps the message from others for as long as it takes, which nobody knows before."""
        seconds, ended = self._settings.visibility_seconds, threading.Event()

        def extend() -> None:
            while not ended.wait(seconds / 3):
                try:
                    self._queues.extend(HEAVY, message.receipt, seconds=seconds)
                except Exception:  # a thread's border: who plans too commits the same plan, or changes nothing
                    log.warning("message not extended", exc_info=True)

        beating = threading.Thread(target=extend, name="heartbeat", daemon=True)
        beating.start()
        try:
            yield
        finally:
            ended.set()
            beating.join()

    def _give_back(self, message: QueueMessage) -> None:
        """Visible to others at once."""
        try:
            self._queues.extend(HEAVY, message.receipt, seconds=0)
        except LeaseLost:
            log.info("message was visible already")


def _job_of(message: QueueMessage) -> UUID | None:
    """None: the message is left, for a newer process or for the dead letters."""
    try:
        schema, job_id = int(message.body["v"]), UUID(message.body["job_id"])
    except (AttributeError, KeyError, TypeError, ValueError):  # UUID(7) has no text to read
        log.error("malformed message left for the dead-letter queue")
        return None
    if schema > MESSAGE_SCHEMA:
        log.warning("message of a newer schema left for a newer process", extra={"schema": schema})
        return None
    return job_id
