"""X-Ray's documents: a span as one, and back.

https://docs.aws.amazon.com/xray/latest/devguide/xray-api-segmentdocuments.html
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind as OtelKind

from adapters.tracing.recording import PREFIX, SERVICE
from wsi.records.spans import Span, SpanKind, Value

#: The attributes that X-Ray indexes, for its own search; the others are metadata.
INDEXED: Final = frozenset({"job_id", "slide_id"})
_OURS: Final = "tessera"  #: namespace of metadata
_KINDS: Final = {
    OtelKind.INTERNAL: SpanKind.INTERNAL,
    OtelKind.SERVER: SpanKind.SERVER,
    OtelKind.CONSUMER: SpanKind.CONSUMER,
    OtelKind.PRODUCER: SpanKind.PRODUCER,
}


def format_trace_id(trace_id: str) -> str:
    """Return X-Ray's form of a W3C trace id."""
    return f"1-{trace_id[:8]}-{trace_id[8:]}"


def make_document(span: ReadableSpan) -> str:
    """Return the span's document: a subsegment for a part of a service's work, else a segment of the service."""
    attributes = {key.removeprefix(PREFIX): value for key, value in (span.attributes or {}).items()}
    service = str(span.resource.attributes[SERVICE])
    is_part = span.kind is OtelKind.INTERNAL and span.parent is not None
    links = [f"00-{link.context.trace_id:032x}-{link.context.span_id:016x}-01" for link in span.links]
    ours = {"service": service, "span": span.name, "kind": _KINDS[span.kind].value, "links": links}
    document: dict[str, Any] = {
        "name": span.name if is_part else service,
        "id": f"{span.context.span_id:016x}",
        "trace_id": format_trace_id(f"{span.context.trace_id:032x}"),
        "start_time": (span.start_time or 0) / 1e9,
        "end_time": (span.end_time or 0) / 1e9,
        "annotations": {key: value for key, value in attributes.items() if key in INDEXED},
        "metadata": {_OURS: {**ours, "attributes": attributes}},
    }
    if span.parent is not None:
        document["parent_id"] = f"{span.parent.span_id:016x}"
    if is_part:
        document["type"] = "subsegment"
    if not span.status.is_unset:
        failure = {"id": document["id"], "type": span.status.description}
        document |= {"fault": True, "cause": {"exceptions": [failure]}}
    return json.dumps(document, separators=(",", ":"))


def read_document(text: str) -> Iterator[Span]:
    """Yield the spans in a document that X-Ray returns: it puts subsegments into their segments. Documents of others,
    as Lambda's own, are passed over."""
    document: Mapping[str, Any] = json.loads(text)
    yield from _read(document, document["trace_id"], document.get("parent_id"))


def _read(document: Mapping[str, Any], trace_id: str, parent: str | None) -> Iterator[Span]:
    ours = document.get("metadata", {}).get(_OURS)
    if ours is not None:
        trace = trace_id.removeprefix("1-").replace("-", "")
        causes = document.get("cause", {}).get("exceptions", ())
        yield Span(
            service=ours["service"],
            name=ours["span"],
            traceparent=f"00-{trace}-{document['id']}-01",
            parent=document.get("parent_id", parent),
            began=document["start_time"],
            ended=document["end_time"],
            kind=SpanKind(ours["kind"]),
            error=causes[0]["type"] if causes else None,
            link=ours["links"][0] if ours["links"] else None,
            attributes=cast("dict[str, Value]", ours["attributes"]),
        )
    for part in document.get("subsegments", ()):
        yield from _read(part, trace_id, document["id"])
