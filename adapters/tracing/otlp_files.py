"""Traces in files of this machine: a line is one request of OTLP in JSON, as an OpenTelemetry collector reads it.

https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind as OtelKind

from adapters.tracing.recording import PREFIX, SERVICE
from wsi.records.spans import Span, SpanKind, Value

MOST_BYTES: Final = 16 * 1024**2  #: of a file; then it replaces the one before, so that twice as much is kept
#: OTLP's numbers of kinds count from 1; 0 is unspecified.
_NUMBERS: Final = {OtelKind.INTERNAL: 1, OtelKind.SERVER: 2, OtelKind.PRODUCER: 4, OtelKind.CONSUMER: 5}
_KINDS: Final = {1: SpanKind.INTERNAL, 2: SpanKind.SERVER, 4: SpanKind.PRODUCER, 5: SpanKind.CONSUMER}
_ERROR: Final = 2  #: OTLP's status code


class OtlpFile(SpanExporter):
    """Appends spans to one file, which this process alone writes."""

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        self._path = path
        self._most_bytes = most_bytes
        path.parent.mkdir(parents=True, exist_ok=True)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        line = json.dumps(make_request(spans), separators=(",", ":")) + "\n"
        if self._path.exists() and self._path.stat().st_size + len(line) > self._most_bytes:
            self._path.replace(self._path.with_suffix(".old.jsonl"))
        with self._path.open("a") as file:
            file.write(line)
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


def read_folder(folder: Path, trace_id: str) -> tuple[Span, ...]:
    """Return the spans of a trace in all files of the folder. A line that a crash cut off is passed over."""
    found: list[Span] = []
    for path in sorted(folder.glob("*.jsonl")):
        with path.open() as file:
            found += [
                span for line in file if trace_id in line for span in _read_line(line) if span.trace_id == trace_id
            ]
    return tuple(found)


def _make_span(span: ReadableSpan) -> dict[str, Any]:
    made: dict[str, Any] = {
        "traceId": f"{span.context.trace_id:032x}",
        "spanId": f"{span.context.span_id:016x}",
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


def _read_line(line: str) -> Iterator[Span]:
    try:
        request: Mapping[str, Any] = json.loads(line)
    except json.JSONDecodeError:
        if line.endswith(os.linesep):
            raise
        return
    for resource in request["resourceSpans"]:
        service = str(_read_attributes(resource["resource"]["attributes"])[SERVICE])
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                yield _read_span(service, span)


def _read_span(service: str, span: Mapping[str, Any]) -> Span:
    links = [f"00-{link['traceId']}-{link['spanId']}-01" for link in span.get("links", ())]
    attributes = _read_attributes(span["attributes"])
    return Span(
        service=service,
        name=span["name"],
        traceparent=f"00-{span['traceId']}-{span['spanId']}-01",
        parent=span.get("parentSpanId"),
        began=int(span["startTimeUnixNano"]) / 1e9,
        ended=int(span["endTimeUnixNano"]) / 1e9,
        kind=_KINDS[span["kind"]],
        error=span["status"]["message"] if "status" in span else None,
        link=links[0] if links else None,
        attributes={key.removeprefix(PREFIX): value for key, value in attributes.items()},
    )


def _read_attributes(attributes: Sequence[Mapping[str, Any]]) -> dict[str, Value]:
    return {one["key"]: _read_value(one["value"]) for one in attributes}


def _read_value(value: Mapping[str, Any]) -> Value:
    ((kind, content),) = value.items()
    return int(content) if kind == "intValue" else content
