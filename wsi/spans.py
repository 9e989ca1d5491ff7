"""Spans that are being recorded. The innermost one of a thread is current: code below it adds to it, or records parts
of it, without being passed a tracer. Threads of `wsi.concurrency` have their caller's. Where none is current, nothing
is recorded."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Unpack

from wsi.errors import TesseraError
from wsi.ports.tracing import Tracer
from wsi.records.spans import Span, SpanAttributes, SpanKind, Value
from wsi.tracing import JOINED_AGE, continue_trace, is_traceparent, move_to_trace, read_span_id


class OpenSpan:
    """A span that has begun. Without a name it is not recorded: most requests are not part of a slide's path."""

    def __init__(
        self,
        tracer: Tracer,
        service: str,
        name: str | None,
        *,
        parent: str | None,
        traceparent: str | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        began: float | None = None,
    ) -> None:
        """Begin. `parent`: the traceparent of the cause; `traceparent`: of this span, where it is known already."""
        self.tracer, self.service, self.name = tracer, service, name
        self.traceparent = traceparent or continue_trace(parent)
        self.attributes: dict[str, Value] = {}
        self.error: str | None = None
        self._parent = read_span_id(parent)
        self._link: str | None = None
        self._kind = kind
        self._began = time.time() if began is None else began

    def describe(self, **attributes: Unpack[SpanAttributes]) -> None:
        """Add attributes."""
        self.attributes.update({key: value for key, value in attributes.items() if isinstance(value, Value)})

    def join(self, other: str) -> None:
        """Move into the trace of `other`, as its child. A span with a parent stays in its trace and links to `other`:
        the client's own trace wins."""
        if self._parent is None:
            self.traceparent, self._parent = move_to_trace(self.traceparent, other), read_span_id(other)
        elif self.traceparent.split("-")[1] != other.split("-")[1]:
            self.attach_link(other)

    def attach_link(self, other: str) -> None:
        """Name a span of another trace that belongs to the same slide."""
        self._link = other

    @property
    def seconds(self) -> float:
        """Return the seconds since it began."""
        return time.time() - self._began

    def end(self) -> None:
        """Record the span, if it has a name."""
        if self.name is None:
            return
        self.tracer.record(
            Span(
                service=self.service,
                name=self.name,
                traceparent=self.traceparent,
                parent=self._parent,
                began=self._began,
                ended=max(self._began, time.time()),
                kind=self._kind,
                error=self.error,
                link=self._link,
                attributes=self.attributes,
            )
        )


_current: ContextVar[OpenSpan | None] = ContextVar("current span", default=None)


@contextmanager
def with_span(span: OpenSpan) -> Generator[OpenSpan]:
    """Make the span current, and end it. An error is noted by its code."""
    token = _current.set(span)
    try:
        yield span
    except BaseException as error:
        span.error = get_error_code(error)
        raise
    finally:
        _current.reset(token)
        span.end()


@contextmanager
def with_step(name: str, *, least_seconds: float = 0.0, **attributes: Unpack[SpanAttributes]) -> Generator[None]:
    """Record a part of the current span, unless it was shorter than `least_seconds`, as an answer of a cache is."""
    outer = _current.get()
    if outer is None:
        yield
        return
    with with_span(OpenSpan(outer.tracer, outer.service, name, parent=outer.traceparent)) as span:
        span.describe(**attributes)
        yield
        if span.seconds < least_seconds:
            span.name = None


def describe_span(name: str | None = None, **attributes: Unpack[SpanAttributes]) -> None:
    """Add attributes to the current span, and give it a name."""
    span = _current.get()
    if span is not None:
        span.name = name or span.name
        span.describe(**attributes)


def join_trace(traceparent: str, slide: str | None, created_at: datetime | None = None) -> str:
    """Move the current span, a request's, into the trace of the slide that it is about, and return its traceparent.
    `traceparent` is the request's own, and the answer where there is nothing to join."""
    span = _current.get()
    if span is None or slide is None or not is_traceparent(slide):
        return traceparent
    if created_at is not None and datetime.now(created_at.tzinfo) - created_at > JOINED_AGE:
        span.attach_link(slide)
    else:
        span.join(slide)
    return span.traceparent


def get_error_code(error: BaseException) -> str:
    """Return what a span may say of an error: its code, or its type. Its text may hold a path."""
    return error.code if isinstance(error, TesseraError) else type(error).__name__


def record_wait(
    tracer: Tracer,
    service: str,
    name: str,
    *,
    parent: str | None,
    began: float | None,
    ended: float,
    kind: SpanKind = SpanKind.CONSUMER,
    **attributes: Unpack[SpanAttributes],
) -> None:
    """Record the time for which a message waited. Nothing is recorded where its begin or its trace is unknown. Two
    clocks measured it: a negative time is none."""
    if began is None or not is_traceparent(parent):
        return
    tracer.record(
        Span(
            service=service,
            name=name,
            traceparent=continue_trace(parent),
            parent=read_span_id(parent),
            began=min(began, ended),
            ended=ended,
            kind=kind,
            attributes={key: value for key, value in attributes.items() if isinstance(value, Value)},
        )
    )
