"""AWS X-Ray: segment documents, sent by its API or through Lambda's own daemon, and traces read back by their id."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from adapters.tracing.segments import format_trace_id, make_document, read_document
from wsi.errors import SourceUnavailable
from wsi.records.spans import Span

DOCUMENTS: Final = 50  #: of one call; the collector's own exporter sends as many
DAEMON_ADDRESS: Final = "AWS_XRAY_DAEMON_ADDRESS"  #: variable that Lambda sets for functions under active tracing
_HEADER: Final = b'{"format": "json", "version": 1}\n'
_RETRIEVAL_SECONDS: Final = 30.0  #: that a trace may take to come from CloudWatch Logs


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


def read_trace(client: Any, trace_id: str, *, sleep: Callable[[float], None] = time.sleep) -> tuple[Span, ...]:
    """Return the spans of a trace; none if X-Ray knows no such trace. Raises SourceUnavailable if X-Ray takes too long.

    An account with Transaction Search stores spans in CloudWatch Logs and indexes a share of the traces; X-Ray has to
    retrieve the others first.
    """
    name = format_trace_id(trace_id)
    documents = tuple(_get(client, name))
    if not documents and client.get_trace_segment_destination().get("Destination") == "CloudWatchLogs":
        documents = tuple(_retrieve(client, name, sleep))
    return tuple(span for document in documents for span in read_document(document))


def _get(client: Any, name: str) -> Iterator[str]:
    following: dict[str, str] = {}
    while True:
        answer = client.batch_get_traces(TraceIds=[name], **following)
        for trace in answer["Traces"]:
            yield from (segment["Document"] for segment in trace["Segments"])
        if not answer.get("NextToken"):
            return
        following = {"NextToken": answer["NextToken"]}


def _retrieve(client: Any, name: str, sleep: Callable[[float], None]) -> Iterator[str]:
    began = int(name.split("-")[1], 16)
    token = client.start_trace_retrieval(TraceIds=[name], StartTime=began - 3600, EndTime=time.time())["RetrievalToken"]
    waited, pause = 0.0, 1.0
    answer = client.list_retrieved_traces(RetrievalToken=token, TraceFormat="XRAY")
    while answer["RetrievalStatus"] in ("SCHEDULED", "RUNNING"):
        if waited >= _RETRIEVAL_SECONDS:
            raise SourceUnavailable("CloudWatch has not found the trace in time; try again in a minute.")
        sleep(pause)
        waited += pause
        answer = client.list_retrieved_traces(RetrievalToken=token, TraceFormat="XRAY")
    while True:
        for trace in answer["Traces"]:
            yield from (span["Document"] for span in trace["Spans"])
        if not answer.get("NextToken"):
            return
        answer = client.list_retrieved_traces(RetrievalToken=token, TraceFormat="XRAY", NextToken=answer["NextToken"])
