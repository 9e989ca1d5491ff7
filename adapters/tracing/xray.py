"""Spans sent to AWS X-Ray, by its API or through Lambda's own daemon."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any, Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from adapters.tracing.segments import make_document

DOCUMENTS: Final = 50  #: of one call; the collector's own exporter sends as many
DAEMON_ADDRESS: Final = "AWS_XRAY_DAEMON_ADDRESS"  #: variable that Lambda sets for functions under active tracing
_HEADER: Final = b'{"format": "json", "version": 1}\n'


class XRayApi(SpanExporter):
    """Sends spans by PutTraceSegments."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        refused = 0
        for first in range(0, len(spans), DOCUMENTS):
            documents = [make_document(span) for span in spans[first : first + DOCUMENTS]]
            answer = self._client.put_trace_segments(TraceSegmentDocuments=documents)
            refused += len(answer.get("UnprocessedTraceSegments", ()))
        return SpanExportResult.FAILURE if refused else SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        pass


class XRayDaemon(SpanExporter):
    """Sends spans to the daemon that Lambda runs next to each function, in a datagram each: no call, no wait. The
    daemon sends them to X-Ray in the function's role.

    https://docs.aws.amazon.com/xray/latest/devguide/xray-api-sendingdata.html#xray-api-daemon
    """

    def __init__(self, address: str) -> None:
        """Connect. `address`: as in `DAEMON_ADDRESS`, "169.254.79.129:2000"."""
        host, _, port = address.rpartition(":")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.connect((host, int(port)))

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        for span in spans:
            self._socket.send(_HEADER + make_document(span).encode())
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self._socket.close()
