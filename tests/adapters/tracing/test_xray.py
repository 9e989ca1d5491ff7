"""AWS X-Ray: the API and its reader against moto, Lambda's daemon as a socket of this machine."""

from __future__ import annotations

import json
import socket
import time

import boto3
import pytest
from moto import mock_aws

from adapters.aws_clients import AwsClients
from adapters.settings.processes import StitchSettings
from adapters.tracing.choosing import make_tracer
from adapters.tracing.names import format_trace_id
from adapters.tracing.recording import OpenTelemetryTracer
from adapters.tracing.xray import DAEMON_ADDRESS, XRayApi, XRayDaemon
from adapters.tracing.xray_reading import read_document, read_trace
from tests.adapters.tracing.spans import make_span
from wsi.errors import SourceUnavailable
from wsi.records.spans import Span, SpanKind
from wsi.tracing import continue_trace, make_traceparent, read_span_id

REGION = "eu-central-1"


def make_trace() -> list[Span]:
    root = make_traceparent()
    work = continue_trace(root)
    return [
        make_span(
            service="api",
            name="start job",
            traceparent=root,
            kind=SpanKind.SERVER,
            attributes={"job_id": "j", "status": 202},
        ),
        make_span(
            service="gpu_worker",
            name="lease shard",
            traceparent=work,
            parent=read_span_id(root),
            kind=SpanKind.CONSUMER,
            link=make_traceparent(),
            attributes={"shard": 0, "attempt": 1},
        ),
        make_span(
            service="gpu_worker",
            name="compute shard",
            traceparent=continue_trace(work),
            parent=read_span_id(work),
            error="model_failed",
            attributes={"is_sum": True, "busy_seconds": 1.5},
        ),
    ]


@pytest.fixture
def client(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        yield boto3.client("xray", region_name=REGION)


def by_id(spans):
    return {span.span_id: span for span in spans}


def test_a_trace_comes_back_from_x_ray_as_it_was(client):
    spans = make_trace()
    tracer = OpenTelemetryTracer(XRayApi(client))
    for span in [*spans, make_span()]:
        tracer.record(span)
    tracer.flush(30)
    tracer.close()
    assert tracer.lost == 0
    assert by_id(read_trace(client, spans[0].trace_id)) == by_id(spans)


def test_many_spans_go_in_calls_of_fifty():
    sent: list[int] = []

    class Client:
        def put_trace_segments(self, TraceSegmentDocuments):
            sent.append(len(TraceSegmentDocuments))
            return {"UnprocessedTraceSegments": []}

    tracer = OpenTelemetryTracer(XRayApi(Client()))
    for _ in range(120):
        tracer.record(make_span())
    tracer.flush(30)
    tracer.close()
    assert sum(sent) == 120
    assert max(sent) == 50


def test_spans_that_x_ray_refuses_are_lost_spans():
    class Client:
        def put_trace_segments(self, TraceSegmentDocuments):
            return {"UnprocessedTraceSegments": [{"ErrorCode": "MissingId"}]}

    tracer = OpenTelemetryTracer(XRayApi(Client()), in_background=False)
    tracer.record(make_span())
    assert tracer.lost == 1


def test_a_part_of_the_work_is_a_subsegment_and_everything_else_a_segment_of_its_service():
    documents = [json.loads(text) for text in send_to_daemon(make_trace())]
    assert [(one["name"], one.get("type")) for one in documents] == [
        ("api", None),
        ("gpu_worker", None),
        ("compute shard", "subsegment"),
    ]
    root, lease, work = documents
    assert root["annotations"] == {"job_id": "j"}  # X-Ray finds the trace by them
    assert lease["parent_id"] == root["id"]
    assert work["parent_id"] == lease["id"]
    assert work["fault"] is True
    assert {one["trace_id"] for one in documents} == {format_trace_id(root["trace_id"][2:].replace("-", ""))}
    assert all(len(json.dumps(one)) < 600 for one in documents)  # a trace holds 500 KB


def test_subsegments_are_read_out_of_the_segments_that_x_ray_puts_them_into():
    root, lease, work = make_trace()
    _, outer, inner = map(json.loads, send_to_daemon([root, lease, work]))
    outer["subsegments"] = [
        {key: value for key, value in inner.items() if key not in ("trace_id", "type", "parent_id")}
    ]
    assert list(read_document(json.dumps(outer))) == [lease, work]


def test_documents_of_others_are_passed_over():
    document = {"id": "a" * 16, "name": "tessera-api", "trace_id": "1-" + "a" * 8 + "-" + "b" * 24, "start_time": 1.0}
    assert list(read_document(json.dumps(document))) == []


def send_to_daemon(spans) -> list[str]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        daemon.settimeout(30)
        tracer = OpenTelemetryTracer(XRayDaemon(f"127.0.0.1:{daemon.getsockname()[1]}"), in_background=False)
        texts: list[str] = []
        for span in spans:
            tracer.record(span)
            header, _, document = daemon.recv(65_536).decode().partition("\n")
            assert json.loads(header) == {"format": "json", "version": 1}
            texts.append(document)
        tracer.close()
    assert tracer.lost == 0
    return texts


def test_a_function_sends_to_lambdas_daemon_and_needs_no_call(monkeypatch):
    """No client is made: a call would add its time to each answer of the API."""

    class Clients:
        def get_client(self, service):
            raise AssertionError(service)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        daemon.settimeout(30)
        monkeypatch.setenv(DAEMON_ADDRESS, f"127.0.0.1:{daemon.getsockname()[1]}")
        settings = StitchSettings(region=REGION, database_dsn="", results_bucket="r", traces="xray")
        tracer = make_tracer(settings, Clients())
        tracer.record(make_span())
        assert b"stitch" in daemon.recv(65_536)
        tracer.close()


def test_a_daemon_that_is_gone_costs_the_function_nothing():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{daemon.getsockname()[1]}"
    tracer = OpenTelemetryTracer(XRayDaemon(address), in_background=False)
    for _ in range(3):
        tracer.record(make_span())
    tracer.close()
    assert tracer.lost > 0


def test_a_worker_without_a_daemon_calls_x_ray(client, monkeypatch):
    monkeypatch.delenv(DAEMON_ADDRESS, raising=False)
    settings = StitchSettings(region=REGION, database_dsn="", results_bucket="r", traces="xray")
    tracer = make_tracer(settings, AwsClients(REGION))
    span = make_span()
    tracer.record(span)
    tracer.flush(30)
    assert read_trace(client, span.trace_id) == (span,)
    tracer.close()


class TransactionSearch:
    """An account whose spans are in CloudWatch Logs. moto has no such account."""

    def __init__(self, documents, *, polls: int) -> None:
        self._documents, self._polls = documents, polls

    def batch_get_traces(self, TraceIds):
        return {"Traces": [], "UnprocessedTraceIds": TraceIds}

    def get_trace_segment_destination(self):
        return {"Destination": "CloudWatchLogs", "Status": "ACTIVE"}

    def start_trace_retrieval(self, TraceIds, StartTime, EndTime):
        assert StartTime < time.time() < EndTime + 1
        return {"RetrievalToken": "token"}

    def list_retrieved_traces(self, RetrievalToken, TraceFormat, NextToken=None):
        assert (RetrievalToken, TraceFormat) == ("token", "XRAY")
        self._polls -= 1
        if self._polls > 0:
            return {"RetrievalStatus": "RUNNING", "Traces": []}
        page = int(NextToken or 0)
        answer = {"RetrievalStatus": "COMPLETE", "Traces": [{"Spans": [{"Document": self._documents[page]}]}]}
        return {**answer, "NextToken": str(page + 1)} if page + 1 < len(self._documents) else answer


def test_spans_that_went_to_cloudwatch_are_retrieved_first():
    spans = make_trace()
    slept: list[float] = []
    account = TransactionSearch(send_to_daemon(spans), polls=3)
    assert list(read_trace(account, spans[0].trace_id, sleep=slept.append)) == spans
    assert len(slept) == 2


def test_a_retrieval_that_does_not_end_is_given_up():
    with pytest.raises(SourceUnavailable, match="try again"):
        read_trace(TransactionSearch([], polls=1000), make_trace()[0].trace_id, sleep=lambda _: None)
