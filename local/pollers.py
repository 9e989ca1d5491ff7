"""Pollers in place of what wakes Lambdas on AWS, event source mappings and a schedule: threads that call handlers."""

from __future__ import annotations

import json
import logging
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from adapters.settings.functions import TIMEOUTS
from adapters.settings.queues import QueueFunction
from lambdas.cold_start import Handler
from local.lambda_context import LambdaContext
from wsi.errors import SourceUnavailable
from wsi.ports.queues import Queues
from wsi.records.notices import QueueMessage

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0  #: a stop waits for the poll that runs
PAUSE_SECONDS = 0.5  #: after a poll that failed


@dataclass(frozen=True, kw_only=True, slots=True)
class Mapped:
    """One event source mapping."""

    queue: str
    function: QueueFunction
    handler: Handler


class _Waking(ABC):
    """A thread that wakes a function until it is asked to stop."""

    def __init__(self, name: str) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask_to_stop(self) -> None:
        self._stopping.set()

    def join(self) -> None:
        if self._thread.is_alive():
            self._thread.join()

    @abstractmethod
    def _run(self) -> None:
        """Wake the function, and return soon after `_stopping` is set."""


class QueuePoller(_Waking):
    """A poller of one queue. It receives a batch, calls the handler, and deletes what the handler did not name as
    failed. The rest comes back when its visibility ends, and goes to the dead letters by the queue's own redrive
    policy."""

    def __init__(self, queues: Queues, mapped: Mapped) -> None:
        super().__init__(f"poll-{mapped.queue}")
        self._queues = queues
        self._mapped = mapped

    def poll(self) -> int:
        """Handle one batch, and return how many messages it had."""
        mapped, function = self._mapped, self._mapped.function
        messages = self._queues.receive(
            mapped.queue,
            limit=function.batch_size,
            wait_seconds=POLL_SECONDS,
            visibility_seconds=function.visibility_seconds,
        )
        if not messages:
            return 0
        ids = {str(uuid.uuid4()): message for message in messages}
        event = make_sqs_event(mapped.queue, ids)
        try:
            answer = mapped.handler(event, LambdaContext(function.name, float(function.timeout_seconds)))
        except Exception:
            log.exception("The function %s failed; its messages come again.", function.name)
            return len(messages)
        failed = read_failed_ids(answer, ids)
        for message_id, message in ids.items():
            if message_id not in failed:
                self._queues.delete(mapped.queue, message.receipt)
        return len(messages)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.poll()
            except SourceUnavailable as error:
                log.warning("Queue %s: %s", self._mapped.queue, error.sentence)
                self._stopping.wait(PAUSE_SECONDS)


class Schedule(_Waking):
    """A schedule that calls a handler every `seconds` with EventBridge's event."""

    def __init__(self, function: str, handler: Handler, *, seconds: float) -> None:
        super().__init__(f"every-{function}")
        self._function = function
        self._handler = handler
        self._seconds = seconds

    def fire(self) -> None:
        event = {
            "id": str(uuid.uuid4()),
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "detail": {},
        }
        try:
            self._handler(event, LambdaContext(self._function, float(TIMEOUTS[self._function])))
        except Exception:
            log.exception("The scheduled function %s failed.", self._function)

    def _run(self) -> None:
        while not self._stopping.wait(self._seconds):
            self.fire()


def make_sqs_event(queue: str, messages: Mapping[str, QueueMessage]) -> dict[str, Any]:
    return {"Records": [_record(queue, message_id, message) for message_id, message in messages.items()]}


def _record(queue: str, message_id: str, message: QueueMessage) -> dict[str, Any]:
    trace = message.traceparent
    attributes = {"ApproximateReceiveCount": str(message.receives)}
    if message.sent_at:
        attributes["SentTimestamp"] = str(int(message.sent_at.timestamp() * 1000))
    return {
        "messageId": message_id,
        "receiptHandle": message.receipt,
        "body": json.dumps(message.body),
        "attributes": attributes,
        "messageAttributes": {"traceparent": {"stringValue": trace, "dataType": "String"}} if trace else {},
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:local:000000000000:{queue}",
        "awsRegion": "local",
    }


def read_failed_ids(answer: Mapping[str, Any] | None, ids: Mapping[str, QueueMessage]) -> frozenset[str]:
    """Return the failed ids, as an event source mapping with ReportBatchItemFailures reads the answer: nothing named,
    nothing failed; an id that is not of this batch, all failed."""
    named: Sequence[Mapping[str, Any]] = (answer or {}).get("batchItemFailures") or []
    failed = frozenset(str(item.get("itemIdentifier")) for item in named)
    return failed if failed <= ids.keys() else frozenset(ids)
