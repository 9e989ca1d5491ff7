"""Extends the leases of this worker, in SQL and SQS alike, every third of a lease, on a thread of its own."""

from __future__ import annotations

import logging
import math
import threading
import time
from dataclasses import dataclass, field

from wsi.ports.ledger import SystemLedger
from wsi.ports.queues import Queues
from wsi.records.notices import QueueMessage
from wsi.records.shards import Lease
from wsi.tracing import make_traceparent

log = logging.getLogger(__name__)

#: Seconds that the thread gets to come back from Postgres or SQS at the end; it is a daemon.
JOIN_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True, eq=False)
class LeasedShard:
    """A leased shard, and the message that announced it."""

    lease: Lease
    queue: str
    message: QueueMessage
    #: Of the attempt's own span.
    traceparent: str = field(default_factory=make_traceparent)
    #: Set to end the work on it: the lease is lost, or the worker leaves.
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def log_fields(self) -> dict[str, object]:
        """Return the fields that every log record about the shard has."""
        return {
            "job": str(self.lease.job.id),
            "shard": self.lease.index,
            "attempt": self.lease.attempt,
            "traceparent": self.lease.job.traceparent,
        }


class Heartbeats:
    """The heartbeats of all leases of the worker, on one thread and one database connection."""

    def __init__(self, *, ledger: SystemLedger, queues: Queues, lease_seconds: float) -> None:
        self._ledger = ledger
        self._queues = queues
        self._lease_seconds = lease_seconds
        self._until: dict[LeasedShard, float] = {}  #: monotonic seconds at which each lease expires unless extended
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    @property
    def beats(self) -> bool:
        """Return whether the thread lives. If not, the leases expire."""
        return self._thread.ident is None or self._ended.is_set() or self._thread.is_alive()

    @property
    def count(self) -> int:
        """Return the number of leases."""
        return len(self._until)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self) -> None:
        """End the thread; no lease is extended any more."""
        self._ended.set()
        self._thread.join(JOIN_SECONDS)

    def add(self, leased: LeasedShard) -> None:
        """Extend a lease from now on."""
        with self._lock:
            self._until[leased] = time.monotonic() + self._lease_seconds

    def remove(self, leased: LeasedShard) -> None:
        """Stop extending a lease. Returns once no beat is under way: a message given back after this stays so."""
        with self._lock:
            self._until.pop(leased, None)

    def beat(self) -> None:
        """Extend every lease once. Drop those that are lost, and stop their work."""
        with self._lock:
            for leased, until in list(self._until.items()):
                extended_until = self._extend(leased, until)
                if extended_until is None:
                    log.warning("lease lost", extra=leased.log_fields)
                    del self._until[leased]
                    leased.stop.set()
                else:
                    self._until[leased] = extended_until

    def _extend(self, leased: LeasedShard, until: float) -> float | None:
        """Return when the lease expires now; None if it is lost."""
        now = time.monotonic()
        try:
            if not self._ledger.extend_lease(leased.lease, seconds=self._lease_seconds):
                return None
            until = now + self._lease_seconds
        except Exception:  # a thread's border: a short outage of the database costs no lease
            log.warning("lease not extended", exc_info=True, extra=leased.log_fields)
            if now + self._lease_seconds / 3 >= until:  # the next beat would come too late
                return None
        try:
            self._queues.extend(leased.queue, leased.message.receipt, seconds=math.ceil(self._lease_seconds))
        except Exception:  # the lease in SQL decides: a message that comes back early is refused
            log.warning("message not extended", exc_info=True, extra=leased.log_fields)
        return until

    def _run(self) -> None:
        while not self._ended.wait(self._lease_seconds / 3):
            self.beat()
