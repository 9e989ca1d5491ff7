"""`wsi.ports.queues.Queues` in memory, stricter than SQS where SQS only promises: a receipt is void at once after the
next receive, and a message cannot stay hidden for more than 12 hours in all (F-1, F-4)."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from adapters.sqs import read_object
from wsi.errors import LeaseLost
from wsi.ports.queues import BATCH
from wsi.records.notices import OutgoingMessage, QueueMessage

LONGEST_HIDDEN = timedelta(hours=12)  #: from the first receive


@dataclass
class _Held:
    message_id: str
    body: str
    traceparent: str | None
    sent_at: datetime
    visible_at: datetime
    receives: int = 0
    receipt: str | None = None
    first_receive: datetime | None = None


class MemoryQueues:
    """`max_receives` by queue: a message received so often without being deleted moves to "<queue>-dlq"."""

    def __init__(self, clock: Callable[[], datetime], max_receives: Mapping[str, int] | None = None) -> None:
        self._clock = clock
        self._max_receives = dict(max_receives or {})
        self._queues: defaultdict[str, list[_Held]] = defaultdict(list)
        self._receipts = 0
        self._changed = threading.Condition()

    def send(self, queue: str, body: Mapping[str, Any], *, group: str, traceparent: str) -> None:
        now = self._clock()
        with self._changed:
            self._add(queue, json.dumps(body), traceparent or None, now)

    def send_text(self, queue: str, text: str) -> None:
        """Send what is no message of ours."""
        with self._changed:
            self._add(queue, text, None, self._clock())

    def send_batch(self, queue: str, messages: Sequence[OutgoingMessage]) -> Mapping[int, str]:
        assert 0 < len(messages) <= BATCH
        for message in messages:
            self.send(queue, message.body, group=message.group, traceparent=message.traceparent)
        return {}

    def receive(
        self, queue: str, *, limit: int, wait_seconds: float, visibility_seconds: int
    ) -> Sequence[QueueMessage]:
        with self._changed:
            self._changed.wait_for(lambda: self._visible(queue), timeout=wait_seconds)
            return tuple(self._hide(held, visibility_seconds) for held in self._visible(queue)[:limit])

    def extend(self, queue: str, receipt: str, *, seconds: int) -> None:
        with self._changed:
            held = self._find(queue, receipt)
            now = self._clock()
            if held is None or held.visible_at <= now:
                raise LeaseLost("The message was given to somebody else or is gone.")
            if held.first_receive and now + timedelta(seconds=seconds) > held.first_receive + LONGEST_HIDDEN:
                raise LeaseLost("A message cannot be held for more than 12 hours.")
            held.visible_at = now + timedelta(seconds=seconds)
            self._changed.notify_all()

    def delete(self, queue: str, receipt: str) -> None:
        with self._changed:
            held = self._find(queue, receipt)
            if held is not None:
                self._queues[queue].remove(held)

    def depth(self, queue: str) -> int:
        """Messages visible or hidden."""
        with self._changed:
            return len(self._queues[queue])

    def _add(self, queue: str, text: str, traceparent: str | None, now: datetime) -> None:
        self._queues[queue].append(_Held(str(uuid4()), text, traceparent, now, now))
        self._changed.notify_all()

    def _visible(self, queue: str) -> list[_Held]:
        now = self._clock()
        limit = self._max_receives.get(queue)
        visible = [held for held in self._queues[queue] if held.visible_at <= now]
        spent = [held for held in visible if limit is not None and held.receives >= limit]
        for held in spent:
            self._queues[queue].remove(held)
            self._queues[f"{queue}-dlq"].append(held)
        return [held for held in visible if held not in spent]

    def _hide(self, held: _Held, seconds: int) -> QueueMessage:
        now = self._clock()
        self._receipts += 1
        held.receipt = f"receipt-{self._receipts}"
        held.receives += 1
        held.first_receive = held.first_receive or now
        held.visible_at = now + timedelta(seconds=seconds)
        return QueueMessage(
            body=read_object(held.body),
            receipt=held.receipt,
            receives=held.receives,
            traceparent=held.traceparent,
            sent_at=held.sent_at,
            message_id=held.message_id,
            text=held.body,
        )

    def _find(self, queue: str, receipt: str) -> _Held | None:
        return next((held for held in self._queues[queue] if held.receipt == receipt), None)
