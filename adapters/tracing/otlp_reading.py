"""Traces read back from files in OTLP's form as JSON. Needs no OpenTelemetry."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from adapters.tracing.names import PREFIX, SERVICE
from wsi.records.spans import Span, SpanKind, Value

_KINDS: Final = {1: SpanKind.INTERNAL, 2: SpanKind.SERVER, 4: SpanKind.PRODUCER, 5: SpanKind.CONSUMER}


def read_folder(folder: Path, trace_id: str) -> tuple[Span, ...]:
    """Return the spans of a trace in all files of the folder. A line that a crash cut off is passed over."""
    found: list[Span] = []
    for path in sorted(folder.glob("*.jsonl")):
        with path.open() as file:
            found += [
                span for line in file if trace_id in line for span in _read_line(line) if span.trace_id == trace_id
            ]
    return tuple(found)


def _read_line(line: str) -> Iterator[Span]:
    try:
        request: Mapping[str, Any] = json.loads(line)
    except json.JSONDecodeError:
        if line.endswith("\n"):
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
        began=int(span["startTimeUnixNano"]) / 10**9,
        ended=int(span["endTimeUnixNano"]) / 10**9,
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
