"""Traces read back from AWS X-Ray by their id. Needs no OpenTelemetry."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

import boto3

from adapters.aws_clients import AwsClients
from adapters.tracing.names import OURS, format_trace_id
from wsi.errors import Invalid, SourceUnavailable
from wsi.records.spans import Span, SpanKind, Value

_RETRIEVAL_SECONDS: Final = 30.0  #: that a trace may take to come from CloudWatch Logs


def make_xray_client(region: str | None) -> Any:
    """Return a client for a person's command: of this region, or of the one in the person's AWS configuration."""
    session: Any = boto3.Session(region_name=region)
    found: str | None = session.region_name
    if found is None:
        raise Invalid("No AWS region is configured. Name the installation's region with --region.")
    return AwsClients(found).get_client("xray")


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


def read_document(text: str) -> Iterator[Span]:
    """Yield the spans in a document that X-Ray returns: it puts subsegments into their segments. Documents of others,
    as Lambda's own, are passed over."""
    document: Mapping[str, Any] = json.loads(text)
    yield from _read(document, document["trace_id"], document.get("parent_id"))


def _read(document: Mapping[str, Any], trace_id: str, parent: str | None) -> Iterator[Span]:
    ours = document.get("metadata", {}).get(OURS)
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
            link=ours["links"][0] if "links" in ours else None,
            attributes=cast("dict[str, Value]", {**document.get("annotations", {}), **ours.get("attributes", {})}),
        )
    for part in document.get("subsegments", ()):
        yield from _read(part, trace_id, document["id"])
