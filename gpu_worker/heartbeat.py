"""Heartbeats of the leases held: SQL and SQS alike are extended every third of the lease, on a thread of their own."""

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

log = logging.getLogger(__name__)

#: Seconds that the thread gets to come back from Postgres or SQS at the end; it is a daemon.
JOIN_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Held:
    """A leased shard and the message that told of it."""

    lease: Lease
    queue: str
    message: QueueMessage
    #: Ends the work on it: the lease is lost, or the worker leaves.
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def log_fields(self) -> dict[str, object]:
        return {
            "job": str(self.lease.job.id),
            "shard": self.lease.index,
            "attempt": self.lease.attempt,
            "traceparent": self.lease.job.traceparent,
        }


class Heartbeats:
    """One thread for all leases of the worker, so that it takes one database connection."""

    def __init__(self, *, ledger: SystemLedger, queues: Queues, lease_seconds: float) -> None:
        self._ledger = ledger
        self._queues = queues
        self._lease_seconds = lease_seconds
        self._until: dict[Held, float] = {}  #: monotonic seconds at which each lease runs out unless extended
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    @property
    def beats(self) -> bool:
        """False: the thread died, and with it go the leases."""
        return self._thread.ident is None or self._ended.is_set() or self._thread.is_alive()

    @property
    def count(self) -> int:
        """Of the leases held."""
        return len(self._until)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join(JOIN_SECONDS)

    def add(self, held: Held) -> None:
        with self._lock:
            self._until[held] = time.monotonic() + self._lease_seconds

    def remove(self, held: Held) -> None:
        """Returns once no beat is under way: a message given back after this stays given back."""
        with self._lock:
            self._until.pop(held, None)

    def beat(self) -> None:
        """Extends every lease once. One that is lost is dropped and its work stopped."""
        with self._lock:
            for held, until in list(self._until.items()):
                extended_until = self._extend(held, until)
                if extended_until is None:
                    log.warning("lease lost", extra=held.log_fields)
                    del self._until[held]
                    held.stop.set()
                else:
                    self._until[held] = extended_until

    def _extend(self, held: Held, until: float) -> float | None:
        now = time.monotonic()
        try:
            if not self._ledger.extend_lease(held.lease, seconds=self._lease_seconds):
                return None
            until = now + self._lease_seconds
        except Exception:  # a thread's border: a database that is away for a moment costs no lease
            log.warning("lease not extended", exc_info=True, extra=held.log_fields)
            if now + self._lease_seconds / 3 >= until:  # the next beat would come too late
                return None
        try:
            self._queues.extend(held.queue, held.message.receipt, seconds=math.ceil(self._lease_seconds))
        except Exception:  # the lease in SQL decides: a message that comes back early is refused
            log.warning("message not extended", exc_info=True, extra=held.log_fields)
        return until

    def _run(self) -> None:
        while not self._ended.wait(self._lease_seconds / 3):
            self.beat()
