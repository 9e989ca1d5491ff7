"""An embedded stack whose functions note when each call began and ended."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adapters.sqs import SqsQueues
from lambdas.cold_start import Handler
from local import functions
from local.options import QUEUE_PREFIX, StackOptions
from local.pollers import QueuePoller
from local.stack import Stack


@dataclass(frozen=True, slots=True)
class TimedCall:
    """A call of a function."""

    queue: str
    began: float  #: s since the epoch, as the database's
    ended: float
    ids: frozenset[str]  #: of slides and jobs in its messages


@dataclass(frozen=True, slots=True)
class TimedStack:
    stack: Stack
    calls: list[TimedCall] = field(default_factory=list[TimedCall])

    def list_calls(self, queue: str) -> list[TimedCall]:
        """Return the calls of one function, in their order."""
        return sorted((call for call in self.calls if call.queue == queue), key=lambda call: call.began)


@contextmanager
def run_timed_stack(folder: Path, options: StackOptions) -> Iterator[TimedStack]:
    """Run a stack, with pollers that note their calls in place of its own."""
    stack = Stack(folder, options)
    stack.start()
    pollers: list[QueuePoller] = []
    try:
        timed = TimedStack(stack)
        for poller in stack.pollers.values():
            poller.ask_to_stop()
        for poller in stack.pollers.values():
            poller.join()
        queues = SqsQueues(stack.clients, QUEUE_PREFIX)
        for mapped in functions.make_queue_functions(stack.addresses, options, graphql_url=stack.graphql_url):
            handler = _note_calls(mapped.queue, mapped.handler, timed.calls)
            pollers.append(QueuePoller(queues, replace(mapped, handler=handler)))
        for poller in pollers:
            poller.start()
        yield timed
    finally:
        for poller in pollers:
            poller.ask_to_stop()
        for poller in pollers:
            poller.join()
        stack.stop()


def _note_calls(queue: str, handler: Handler, calls: list[TimedCall]) -> Handler:
    def handle(event: dict[str, Any], context: Any) -> Any:
        began = time.time()
        answer = handler(event, context)
        calls.append(TimedCall(queue, began, time.time(), _read_ids(event)))
        return answer

    return handle


def _read_ids(event: Mapping[str, Any]) -> frozenset[str]:
    bodies = [json.loads(record["body"]) for record in event["Records"]]
    return frozenset(str(body[name]) for body in bodies for name in ("slide_id", "job_id") if name in body)
