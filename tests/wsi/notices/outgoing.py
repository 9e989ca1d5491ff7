"""What the relay's tests send through: ports that record every row, fail where a test says so, and let time pass."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from tests.fakes.ledger import MemoryLedger
from tests.installation import HOSPITAL, Clock
from tests.updates import any_update
from wsi.errors import SourceUnavailable
from wsi.notices.outbox import Relayed, relay
from wsi.ports.queues import BATCH
from wsi.records.notices import PUSH, REVOCATION, JobUpdate, OutboxRow, OutgoingMessage, Revocation

RUN_SECONDS = 30.0  #: the function's time


class Dead(Exception):
    """The process is gone."""


class Outgoing:
    """Queues and publisher of one installation. `is_refused(name)` decides which rows fail; each call takes
    `call_seconds` of the run's clock."""

    def __init__(self, *, call_seconds: float = 0.0, is_refused: Callable[[str], bool] = lambda name: False) -> None:
        self.clock = Clock()
        self.ledger = MemoryLedger(self.clock)
        self.call_seconds = call_seconds
        self.is_refused = is_refused
        self.sent: list[str] = []
        self.batches: list[int] = []
        self.monotonic = 0.0
        self._lock = threading.Lock()

    def write(self, topic: str, *, job: str = "job") -> str:
        """Write a row to the outbox, and return its name in `sent`."""
        name = f"{topic}-{job}-{uuid4().hex[:8]}"
        body: dict[str, Any] = {"name": name}
        if topic == PUSH:
            body = any_update(job_id=job, slide_id=name).as_json()
        if topic == REVOCATION:
            body = {"tenant": str(HOSPITAL), "subject": name}
        self.ledger.books.send(HOSPITAL, topic, body, "")
        return name

    def run(self, *, seconds: float = RUN_SECONDS, ledger: object = None, publisher: object = None) -> Relayed:
        return relay(
            ledger=ledger or self.ledger,  # type: ignore[arg-type]
            queues=self,  # type: ignore[arg-type]
            publisher=publisher or self,  # type: ignore[arg-type]
            seconds=seconds,
            shards_in_flight=12,
            clock=self.read_clock,
        )

    def read_clock(self) -> float:
        with self._lock:
            return self.monotonic

    def count_unsent(self) -> int:
        return sum(entry.sent_at is None for entry in self.ledger.books.outbox)

    def count_sends(self) -> Counter[str]:
        return Counter(self.sent)

    # --- the ports

    def send_batch(self, queue: str, messages: Sequence[OutgoingMessage]) -> Mapping[int, str]:
        assert 0 < len(messages) <= BATCH
        names = [message.body["name"] for message in messages]
        assert all(name.startswith(queue) for name in names)
        refused = {place: "InternalError" for place, name in enumerate(names) if self.is_refused(name)}
        with self._lock:
            self.monotonic += self.call_seconds
            self.batches.append(len(messages))
            self.sent += [name for place, name in enumerate(names) if place not in refused]
        return refused

    def publish(self, update: JobUpdate) -> None:
        with self._lock:
            self.monotonic += self.call_seconds
            if self.is_refused(update.slide_id):
                raise SourceUnavailable("The push service did not take the update.")
            self.sent.append(update.slide_id)

    def end_subscriptions(self, revocation: Revocation) -> None:
        with self._lock:
            self.monotonic += self.call_seconds
            if self.is_refused(revocation.subject):
                raise SourceUnavailable("The push service did not take the revocation.")
            self.sent.append(revocation.subject)


class DyingLedger:
    """A ledger whose process dies in its nth call: before the database has written anything, or after."""

    def __init__(self, ledger: MemoryLedger, *, dies_at: int, has_written: bool) -> None:
        self._ledger = ledger
        self._calls_left = dies_at
        self._has_written = has_written

    def admit_shards(self, *, in_flight: int) -> int:
        return self._call(lambda: self._ledger.admit_shards(in_flight=in_flight))

    def claim_outbox(self, *, limit: int, seconds: float) -> tuple[OutboxRow, ...]:
        return self._call(lambda: self._ledger.claim_outbox(limit=limit, seconds=seconds))

    def mark_sent(self, ids: Sequence[int]) -> None:
        self._call(lambda: self._ledger.mark_sent(ids))

    def release_outbox(self, ids: Sequence[int]) -> None:
        self._call(lambda: self._ledger.release_outbox(ids))

    def _call(self, act: Callable[[], Any]) -> Any:
        self._calls_left -= 1
        if self._calls_left == 0 and not self._has_written:
            raise Dead
        answer = act()
        if self._calls_left == 0:
            raise Dead
        return answer
