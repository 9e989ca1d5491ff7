"""One trace from the upload to the end of a job, over the functions; privacy of what it holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from lambdas import relay, stitch
from lambdas.wiring import ApiWiring
from tests.installation import ANALYST, INSPECTION
from tests.lambdas.jobs import submit
from tests.lambdas.rest import Caller, whole_handler
from tests.lambdas.test_queue_handlers import failed, sqs_event
from tests.spans import MemoryTracer
from wsi.records.spans import SpanAttributes, SpanKind
from wsi.tracing import make_traceparent, read_span_id

NAME = "Meier, Anna 1951-07-03.svs"


@pytest.fixture
def tracer():
    return MemoryTracer()


@pytest.fixture
def traced(wiring: ApiWiring, tracer):
    return Caller(whole_handler(replace(wiring, tracer=tracer)), ANALYST)


@pytest.fixture
def uploaded(installation, traced):
    """A slide that came through the API, by a clock of today, and was accepted."""
    installation.clock.now = datetime.now(UTC)
    opened = traced("POST", "/uploads", {"files": [{"name": NAME, "size": 1000}]}).body
    slide = installation.ledger.get_slide(ANALYST, UUID(opened["slide_id"]))
    installation.send_parts(slide)
    assert traced("POST", f"/uploads/{slide.id}/complete").status == 200
    slide = installation.ledger.get_slide(ANALYST, slide.id)
    assert installation.ledger.accept_slide(slide.id, INSPECTION.as_json(), "thumbnail", version=slide.version)
    return slide


def test_an_upload_begins_the_trace_that_its_inspection_continues(installation, uploaded, tracer):
    begin, complete = tracer.one("begin upload"), tracer.one("complete upload")
    assert uploaded.traceparent == begin.traceparent
    assert (complete.trace_id, complete.parent) == (begin.trace_id, begin.span_id)
    (row,) = [row for row in installation.ledger.claim_outbox(limit=10, seconds=60) if row.topic == "inspect"]
    assert row.traceparent == uploaded.traceparent
    assert (begin.kind, begin.service, begin.attributes["status"]) == (SpanKind.SERVER, "api", 201)
    assert complete.attributes == {"slide_id": str(uploaded.id), "status": 200}


def test_a_job_of_a_young_slide_is_in_the_slides_trace(uploaded, traced, tracer):
    job = submit(traced, uploaded.id).body
    started = tracer.one("start job")
    assert (started.trace_id, started.parent) == (
        tracer.one("begin upload").trace_id,
        tracer.one("begin upload").span_id,
    )
    assert (started.attributes["job_id"], started.attributes["model"]) == (job["job_id"], "stain-density")
    assert job["traceparent"] == started.traceparent


def test_a_job_of_an_old_slide_has_its_own_trace_and_links_to_the_slides(installation, uploaded, traced, tracer):
    slide = installation.ledger.books.slides[uploaded.id]
    installation.ledger.books.slides[uploaded.id] = replace(slide, created_at=slide.created_at - timedelta(days=3))
    job = submit(traced, uploaded.id).body
    started = tracer.one("start job")
    assert started.link == uploaded.traceparent
    assert started.trace_id == job["traceparent"].split("-")[1] != uploaded.traceparent.split("-")[1]


def test_requests_that_are_no_part_of_a_slides_path_give_no_span(traced, slide, tracer):
    assert traced("GET", "/slides").status == 200
    assert traced("GET", f"/slides/{slide}").status == 200
    assert traced("GET", "/jobs").status == 200
    assert tracer.spans == []


def test_a_clients_trace_is_continued(traced, slide, tracer):
    given = make_traceparent()
    body = {"slide_id": str(slide), "model": "stain-density"}
    job = traced("POST", "/jobs", body, headers={"Traceparent": given})
    started = tracer.one("start job")
    assert (started.trace_id, started.parent) == (given.split("-")[1], read_span_id(given))
    assert job.body["traceparent"].split("-")[1] == given.split("-")[1]


def test_a_refused_request_is_recorded_with_its_status_and_is_no_error_of_ours(traced, slide, tracer):
    assert traced("POST", "/jobs", {"slide_id": str(slide), "model": "unknown"}).status == 404
    started = tracer.one("start job")
    assert started.attributes["status"] == 404
    assert started.error is None


def test_a_message_gives_its_wait_and_the_work_and_the_work_says_how_it_failed(installation, tracer):
    class Broken:
        def find_stitch_brief(self, job_id):
            raise RuntimeError("/patients/Meier.svs")

        def fail_job(self, *reason):
            return True

    handle = stitch.make_handler(
        ledger=Broken(), objects=installation.objects, queues=installation.queues, tracer=tracer
    )
    event = sqs_event({"v": 1, "job_id": "44fb0987-67f0-41ba-8a7d-7033b7968ef4"}, receives=2)
    assert failed(handle(event, None)) == ["m0"]
    wait, work = tracer.spans
    cause = event["Records"][0]["messageAttributes"]["traceparent"]["stringValue"]
    assert (wait.name, work.name) == ("queue stitch", "stitch")
    assert wait.parent == work.parent == read_span_id(cause)
    assert wait.began == 0
    assert wait.ended == work.began
    assert wait.attributes["receives"] == 2
    assert work.error == "RuntimeError"
    assert "Meier" not in str(tracer.spans)


def test_the_relay_records_how_long_each_message_was_in_the_outbox_and_no_update(installation, traced, slide, tracer):
    class Context:
        def get_remaining_time_in_millis(self):
            return 30_000

    submit(traced, slide)
    tracer.spans.clear()
    handle = relay.make_handler(
        ledger=installation.ledger,
        queues=installation.queues,
        publisher=installation.publisher,
        shards_in_flight=3,
        tracer=tracer,
    )
    handle({}, Context())
    assert installation.publisher.published
    assert {span.name for span in tracer.spans} == {"outbox inspect", "outbox plan"}
    planned = tracer.one("outbox plan")
    assert planned.kind is SpanKind.PRODUCER
    assert planned.attributes["queue"] == "plan"


def test_spans_hold_no_name_of_a_file_and_only_the_attributes_that_are_listed(uploaded, traced, tracer):
    submit(traced, uploaded.id, label="Anna Meier")
    assert tracer.names == ["begin upload", "complete upload", "start job"]
    for secret in ("Meier", str(ANALYST.tenant), ANALYST.subject):
        assert secret not in str(tracer.spans)
    for span in tracer.spans:
        assert span.attributes.keys() <= SpanAttributes.__annotations__.keys()
