"""`wsi.ports.tracing.Tracer` on the OpenTelemetry SDK: its sampler, its bounded queue and thread, its exporters."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, TraceFlags
from opentelemetry.trace import SpanKind as OtelKind
from opentelemetry.trace.status import Status, StatusCode

from adapters.tracing.names import PREFIX, SERVICE
from wsi.records.spans import Span, SpanKind

log = logging.getLogger(__name__)

QUEUE_SPANS: Final = 2048  #: that wait for the exporter; the oldest one is dropped for one more
#: Between two exports. A worker that is killed loses the spans of this time.
DELAY_SECONDS: Final = 1.0
_SCOPE: Final = InstrumentationScope("tessera")
_KINDS: Final = {
    SpanKind.INTERNAL: OtelKind.INTERNAL,
    SpanKind.SERVER: OtelKind.SERVER,
    SpanKind.CONSUMER: OtelKind.CONSUMER,
    SpanKind.PRODUCER: OtelKind.PRODUCER,
}


class OpenTelemetryTracer:
    """Records spans from any thread. `on_lost` hears of the number of spans that could not be sent."""

    def __init__(
        self,
        exporter: SpanExporter,
        *,
        share: float = 1.0,
        in_background: bool = True,
        on_lost: Callable[[int], None] | None = None,
    ) -> None:
        """Begin. `share`: of traces that are recorded, chosen by their id, so that all processes agree on a trace.
        `in_background` False exports each span at once, by an exporter that does not wait."""
        self._counted = _CountedExporter(exporter, on_lost)
        self._sampler = TraceIdRatioBased(share)
        self._resources: dict[str, Resource] = {}
        self._processor = (
            BatchSpanProcessor(
                self._counted,
                max_queue_size=QUEUE_SPANS,
                schedule_delay_millis=DELAY_SECONDS * 1000,
                max_export_batch_size=QUEUE_SPANS // 4,
            )
            if in_background
            else SimpleSpanProcessor(self._counted)
        )

    @property
    def lost(self) -> int:
        """Return the number of spans that could not be sent so far."""
        return self._counted.lost

    def record(self, span: Span) -> None:
        context = _make_context(span.traceparent)
        if not self._sampler.should_sample(None, context.trace_id, span.name).decision.is_sampled():
            return
        self._counted.expect()
        self._processor.on_end(self._convert(span, context))

    def close(self) -> None:
        """Send what was recorded, and end the thread. Later spans are dropped."""
        self._processor.shutdown()

    def flush(self, seconds: float) -> None:
        # The SDK's own flush has no limit in time.
        flushing = threading.Thread(target=self._processor.force_flush, name="flush traces", daemon=True)
        flushing.start()
        flushing.join(seconds)

    def _convert(self, span: Span, context: SpanContext) -> ReadableSpan:
        if span.service not in self._resources:
            self._resources[span.service] = Resource({SERVICE: span.service})
        parent = None
        if span.parent is not None:
            parent = SpanContext(context.trace_id, int(span.parent, 16), is_remote=False)
        return ReadableSpan(
            name=span.name,
            context=context,
            parent=parent,
            resource=self._resources[span.service],
            attributes={PREFIX + key: value for key, value in span.attributes.items()},
            links=() if span.link is None else (Link(_make_context(span.link)),),
            kind=_KINDS[span.kind],
            status=Status(StatusCode.UNSET if span.error is None else StatusCode.ERROR, span.error),
            start_time=_count_nanoseconds(span.began),
            end_time=_count_nanoseconds(span.ended),
            instrumentation_scope=_SCOPE,
        )


class _CountedExporter(SpanExporter):
    """Counts the spans that an exporter could not send, and logs the first failure of a row."""

    def __init__(self, exporter: SpanExporter, on_lost: Callable[[int], None] | None) -> None:
        self._exporter = exporter
        self._on_lost = on_lost
        self._lock = threading.Lock()
        self._waiting = 0
        self._fails = False
        self.lost = 0

    def expect(self) -> None:
        """Note that a span is about to enter the queue. In a full one it takes the place of the oldest."""
        with self._lock:
            is_full = self._waiting >= QUEUE_SPANS
            self._waiting += not is_full
        if is_full:
            self._lose(1, None)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        with self._lock:
            self._waiting -= len(spans)
        try:
            result, error = self._exporter.export(spans), None
        except Exception as caught:  # noqa: BLE001  # a thread's border: a trace must not cost a slide
            result, error = SpanExportResult.FAILURE, caught
        if result is SpanExportResult.SUCCESS:
            self._fails = False
        else:
            self._lose(len(spans), error)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def _lose(self, count: int, error: Exception | None) -> None:
        with self._lock:
            self.lost += count
            is_first, self._fails = not self._fails, True
        if is_first:
            log.warning("Spans are lost; the next ones are counted, not logged.", exc_info=error)
        if self._on_lost is not None:
            self._on_lost(count)


def _count_nanoseconds(seconds: float) -> int:
    # A float of 2026 times 1e9 would round to 256 ns.
    return int(seconds) * 10**9 + round(seconds % 1 * 1e9)


def get_context(span: ReadableSpan) -> SpanContext:
    """Return the ids of a span. The SDK types them as optional; a recorded span has them."""
    if span.context is None:
        raise ValueError(f"The span {span.name} has no ids.")
    return span.context


def _make_context(traceparent: str) -> SpanContext:
    _, trace, span, _ = traceparent.split("-")
    # The sampled flag of a client decides nothing: it would let clients switch recording on and off.
    return SpanContext(int(trace, 16), int(span, 16), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
