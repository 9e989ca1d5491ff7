"""Sending of claimed outbox rows, many at once: revocations, messages of queues in batches, pushes side by side."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from types import TracebackType

from wsi.ports.push import Publisher
from wsi.ports.queues import BATCH, Queues
from wsi.ports.tracing import NO_TRACER, Tracer
from wsi.records.fields import select_known_fields
from wsi.records.notices import PUSH, REVOCATION, JobUpdate, OutboxRow, OutgoingMessage, Revocation
from wsi.records.spans import SpanAttributes, SpanKind
from wsi.spans import record_wait

logger = logging.getLogger(__name__)

#: Most calls under way: 1,280 a second of 25 ms each. The clients of SQS and AppSync keep as many connections.
SENDS_AT_ONCE = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class SendingTimes:
    """The limits of a run, in seconds of `clock`."""

    last_begin: float  #: no send begins afterwards
    last_end: float  #: nobody waits for a send any longer
    clock: Callable[[], float]

    def allow_begin(self) -> bool:
        """Return whether a send may begin now."""
        return self.clock() < self.last_begin

    def compute_patience(self) -> float:
        """Return the seconds for which sends under way are still waited for."""
        return max(0.0, self.last_end - self.clock())


@dataclass(frozen=True, kw_only=True, slots=True)
class SendOutcome:
    """The ids of rows that were sent, and of rows that no send began for. The other rows failed, or still are under
    way."""

    sent: Sequence[int]
    untried: Sequence[int]


class OutboxSender:
    """Threads that send the rows of one claim after another.

    Revocations begin before calls to queues, and those before pushes. The updates of one job are pushed one by one in
    the order of their ids, so that no later state is overtaken by an earlier one. A row that cannot be sent holds up no
    other.
    """

    def __init__(self, queues: Queues, publisher: Publisher, times: SendingTimes, tracer: Tracer = NO_TRACER) -> None:
        self._queues = queues
        self._tracer = tracer
        self._publisher = publisher
        self._times = times
        self._pool = ThreadPoolExecutor(SENDS_AT_ONCE, thread_name_prefix="relay")

    def __enter__(self) -> OutboxSender:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A send that hangs must not keep the run from its end.
        self._pool.shutdown(wait=False, cancel_futures=True)

    def send(self, rows: Sequence[OutboxRow]) -> SendOutcome:
        """Send the rows. Wait until all sends have ended or `times` forbid to wait longer."""
        track = _Track(rows, self._times)
        calls = [self._pool.submit(self._revoke, row, track) for row in rows if row.topic == REVOCATION]
        calls += [self._pool.submit(self._send_batch, batch, track) for batch in _batch_messages(rows)]
        calls += [self._pool.submit(self._push, updates, track) for updates in _group_pushes(rows)]
        wait(calls, timeout=self._times.compute_patience())
        return track.close()

    def _send_batch(self, rows: Sequence[OutboxRow], track: _Track) -> None:
        if not track.begin(rows):
            return
        try:
            refused = self._queues.send_batch(
                rows[0].topic,
                [OutgoingMessage(body=row.body, group=str(row.tenant), traceparent=row.traceparent) for row in rows],
            )
        except Exception:
            logger.exception(_NOT_SENT, extra=_identify(rows))
            return
        sent = [row for place, row in enumerate(rows) if place not in refused]
        track.record_sent(sent)
        for row in sent:
            _record_span(row, self._tracer)
        for place, why in refused.items():
            logger.error(_NOT_SENT, extra={**_identify([rows[place]]), "refusal": why})

    def _revoke(self, row: OutboxRow, track: _Track) -> None:
        if not track.begin([row]):
            return
        try:
            self._publisher.end_subscriptions(Revocation(**select_known_fields(Revocation, row.body)))
        except Exception:
            logger.exception(_NOT_SENT, extra=_identify([row]))
        else:
            track.record_sent([row])

    def _push(self, rows: Sequence[OutboxRow], track: _Track) -> None:
        for row in rows:
            if not track.begin([row]):
                return
            try:
                self._publisher.publish(JobUpdate(**select_known_fields(JobUpdate, row.body)))
            except Exception:
                logger.exception(_NOT_SENT, extra=_identify([row]))
            else:
                track.record_sent([row])


class _Track:
    """The threads' report on the rows of one claim. Once it is closed, no send begins."""

    def __init__(self, rows: Iterable[OutboxRow], times: SendingTimes) -> None:
        self._times = times
        self._lock = threading.Lock()
        self._untried = {row.id for row in rows}
        self._sent: list[int] = []
        self._closed = False

    def begin(self, rows: Iterable[OutboxRow]) -> bool:
        """Note that a send of these rows begins. Return False if it is too late for that."""
        with self._lock:
            if self._closed or not self._times.allow_begin():
                return False
            self._untried.difference_update(row.id for row in rows)
            return True

    def record_sent(self, rows: Iterable[OutboxRow]) -> None:
        with self._lock:
            self._sent.extend(row.id for row in rows)

    def close(self) -> SendOutcome:
        with self._lock:
            self._closed = True
            return SendOutcome(sent=tuple(self._sent), untried=tuple(self._untried))


def _record_span(row: OutboxRow, tracer: Tracer) -> None:
    """Record how long a message was in the outbox. Updates of subscribers give no span: a job has one a second."""
    attributes: SpanAttributes = {"queue": row.topic}
    if "job_id" in row.body:
        attributes["job_id"] = str(row.body["job_id"])
    if "shard" in row.body:
        attributes["shard"] = int(row.body["shard"])
    if "slide_id" in row.body:
        attributes["slide_id"] = str(row.body["slide_id"])
    record_wait(
        tracer,
        "relay",
        f"outbox {row.topic}",
        parent=row.traceparent,
        began=row.created_at.timestamp() if row.created_at is not None else None,
        ended=time.time(),
        kind=SpanKind.PRODUCER,
        **attributes,
    )


_NOT_SENT = "Outbox rows were not sent; they come again."


def _identify(rows: Sequence[OutboxRow]) -> dict[str, object]:
    return {"outbox_ids": [row.id for row in rows], "topic": rows[0].topic}


def _batch_messages(rows: Iterable[OutboxRow]) -> list[list[OutboxRow]]:
    """Return the rows for queues as batches of one queue each, the queue of the oldest row first."""
    by_queue: defaultdict[str, list[OutboxRow]] = defaultdict(list)
    for row in rows:
        if row.topic not in (PUSH, REVOCATION):
            by_queue[row.topic].append(row)
    return [same[n : n + BATCH] for same in by_queue.values() for n in range(0, len(same), BATCH)]


def _group_pushes(rows: Iterable[OutboxRow]) -> list[list[OutboxRow]]:
    """Return the rows for subscribers as the updates of one job each, in the order given."""
    by_job: defaultdict[object, list[OutboxRow]] = defaultdict(list)
    for row in rows:
        if row.topic == PUSH:
            by_job[row.body.get("job_id")].append(row)
    return list(by_job.values())
