"""X-Ray's documents, one for a span.

https://docs.aws.amazon.com/xray/latest/devguide/xray-api-segmentdocuments.html
"""

from __future__ import annotations

import json
from typing import Any, Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind as OtelKind

from adapters.tracing.names import OURS, PREFIX, SERVICE, format_trace_id
from adapters.tracing.recording import get_context
from wsi.records.spans import SpanKind

#: The attributes that X-Ray indexes, for its own search; the others are metadata.
INDEXED: Final = frozenset({"job_id", "slide_id"})
_KINDS: Final = {
    OtelKind.INTERNAL: SpanKind.INTERNAL,
    OtelKind.SERVER: SpanKind.SERVER,
    OtelKind.CONSUMER: SpanKind.CONSUMER,
    OtelKind.PRODUCER: SpanKind.PRODUCER,
}


def make_document(span: ReadableSpan) -> str:
    """Return the span's document: a subsegment for a part of a service's work, else a segment of the service."""
    context = get_context(span)
    attributes = {key.removeprefix(PREFIX): value for key, value in (span.attributes or {}).items()}
    service = str(span.resource.attributes[SERVICE])
    is_part = span.kind is OtelKind.INTERNAL and span.parent is not None
    links = [f"00-{link.context.trace_id:032x}-{link.context.span_id:016x}-01" for link in span.links]
    ours: dict[str, Any] = {"service": service, "span": span.name, "kind": _KINDS[span.kind].value}
    if links:
        ours["links"] = links
    unindexed = {key: value for key, value in attributes.items() if key not in INDEXED}
    if unindexed:
        ours["attributes"] = unindexed
    document: dict[str, Any] = {
        "name": span.name if is_part else service,
        "id": f"{context.span_id:016x}",
        "trace_id": format_trace_id(f"{context.trace_id:032x}"),
        "start_time": (span.start_time or 0) / 10**9,
        "end_time": (span.end_time or 0) / 10**9,
        "annotations": {key: value for key, value in attributes.items() if key in INDEXED},
        "metadata": {OURS: ours},
    }
    if span.parent is not None:
        document["parent_id"] = f"{span.parent.span_id:016x}"
    if is_part:
        document["type"] = "subsegment"
    if not span.status.is_unset:
        failure = {"id": document["id"], "type": span.status.description}
        document |= {"fault": True, "cause": {"exceptions": [failure]}}
    return json.dumps(document, separators=(",", ":"))
