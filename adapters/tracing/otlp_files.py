"""Traces in files of this machine: a line is one request of OTLP in JSON, as an OpenTelemetry collector reads it.

https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind as OtelKind

from adapters.tracing.names import SERVICE
from adapters.tracing.recording import get_context

MOST_BYTES: Final = 16 * 1024**2  #: of a file; then it replaces the one before, so that twice as much is kept
#: OTLP's numbers of kinds count from 1; 0 is unspecified.
_NUMBERS: Final = {OtelKind.INTERNAL: 1, OtelKind.SERVER: 2, OtelKind.PRODUCER: 4, OtelKind.CONSUMER: 5}
_ERROR: Final = 2  #: OTLP's status code


class OtlpFile(SpanExporter):
    """Appends spans to one file."""

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        self._path = path
        self._most_bytes = most_bytes
        path.parent.mkdir(parents=True, exist_ok=True)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        line = json.dumps(make_request(spans), separators=(",", ":")) + "\n"
        if self._path.exists() and self._path.stat().st_size + len(line) > self._most_bytes:
            self._path.replace(self._path.with_suffix(".old.jsonl"))
        # One call: lines of processes that share the file do not mix.
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        pass


def make_request(spans: Sequence[ReadableSpan]) -> dict[str, Any]:
    """Return OTLP's request for these spans, in its form as JSON."""
    by_service: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for span in spans:
        by_service[str(span.resource.attributes[SERVICE])].append(_make_span(span))
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": [_make_attribute(SERVICE, service)]},
                "scopeSpans": [{"scope": {"name": "tessera"}, "spans": made}],
            }
            for service, made in by_service.items()
        ]
    }


def _make_span(span: ReadableSpan) -> dict[str, Any]:
    context = get_context(span)
    made: dict[str, Any] = {
        "traceId": f"{context.trace_id:032x}",
        "spanId": f"{context.span_id:016x}",
        "name": span.name,
        "kind": _NUMBERS[span.kind],
        "startTimeUnixNano": str(span.start_time),
        "endTimeUnixNano": str(span.end_time),
        "attributes": [_make_attribute(key, value) for key, value in (span.attributes or {}).items()],
    }
    if span.parent is not None:
        made["parentSpanId"] = f"{span.parent.span_id:016x}"
    if span.links:
        made["links"] = [
            {"traceId": f"{link.context.trace_id:032x}", "spanId": f"{link.context.span_id:016x}"}
            for link in span.links
        ]
    if not span.status.is_unset:
        made["status"] = {"code": _ERROR, "message": span.status.description}
    return made


def _make_attribute(key: str, value: object) -> dict[str, Any]:
    match value:
        case bool():
            return {"key": key, "value": {"boolValue": value}}
        case int():
            return {"key": key, "value": {"intValue": str(value)}}
        case float():
            return {"key": key, "value": {"doubleValue": value}}
        case _:
            return {"key": key, "value": {"stringValue": str(value)}}
