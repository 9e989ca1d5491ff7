"""Spans, the parts of a trace. They hold ids and numbers, never a name that a user gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypedDict

Value = str | int | float | bool


class SpanKind(StrEnum):
    """OpenTelemetry's kinds, as far as they are used here."""

    INTERNAL = "internal"
    SERVER = "server"  #: answers a request
    CONSUMER = "consumer"  #: handles a message
    PRODUCER = "producer"  #: sends a message


class SpanAttributes(TypedDict, total=False):
    """All attributes that a span may have. A file name, a label, a tenant or a person is not among them."""

    job_id: str
    slide_id: str
    shard: int
    attempt: int
    receives: int  #: of the message: more than 1 after a failure or a lost worker
    queue: str
    model: str
    model_version: str
    status: int  #: of an HTTP answer
    outcome: str  #: the state that the slide came into, or how the work on a shard ended
    tiles: int
    unreadable: int
    shards: int
    bytes: int
    requests: int  #: reads of the slide
    delivered: int  #: notices
    failed: int
    busy_seconds: float  #: of a stage of the worker: the sum of its own work, on all threads
    waited_seconds: float  #: of a stage of the worker: for input, and for room behind it
    is_sum: bool  #: a stage runs all the time, side by side with others; its span is as long as the sum of its work


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A finished part of a trace."""

    service: str  #: "api", "inspect", "gpu_worker" …
    name: str
    traceparent: str  #: of this span: the trace and its own id
    parent: str | None  #: the id of the span that caused it, 16 hexadecimal digits
    began: float  #: seconds of the epoch
    ended: float
    kind: SpanKind = SpanKind.INTERNAL
    error: str | None = None  #: a stable code or a type's name: the text of an error may hold a path
    link: str | None = None  #: the traceparent of another trace that belongs to the same slide
    attributes: Mapping[str, Value] = field(default_factory=dict[str, Value])

    @property
    def trace_id(self) -> str:
        return self.traceparent.split("-")[1]

    @property
    def span_id(self) -> str:
        return self.traceparent.split("-")[2]

    @property
    def seconds(self) -> float:
        return self.ended - self.began
