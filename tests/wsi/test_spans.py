"""Spans: the current one, its parts, its trace."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.spans import MemoryTracer
from wsi.errors import FailReason, JobFailed
from wsi.spans import OpenSpan, describe_span, join_trace, record_wait, with_span, with_step
from wsi.tracing import JOINED_AGE, make_traceparent


@pytest.fixture
def tracer() -> MemoryTracer:
    return MemoryTracer()


def open_request(tracer: MemoryTracer, *, name: str | None = "start job", parent: str | None = None) -> OpenSpan:
    return OpenSpan(tracer, "api", name, parent=parent)


def test_a_step_is_below_the_current_span_in_its_trace(tracer):
    with with_span(open_request(tracer)) as outer, with_step("write", bytes=5):
        pass
    inner, root = tracer.spans
    assert (inner.name, inner.parent, inner.trace_id) == ("write", root.span_id, root.trace_id)
    assert inner.service == "api"
    assert inner.attributes == {"bytes": 5}
    assert root.began <= inner.began <= inner.ended <= root.ended
    assert root.traceparent == outer.traceparent


def test_steps_are_nested(tracer):
    with with_span(open_request(tracer)), with_step("a"), with_step("b"):
        pass
    assert tracer.one("b").parent == tracer.one("a").span_id


def test_without_a_current_span_nothing_is_recorded_and_the_trace_is_the_callers_own():
    own, slide = make_traceparent(), make_traceparent()
    with with_step("write"):
        describe_span("start job", shards=3)
    assert join_trace(own, slide) == own


def test_a_span_without_a_name_is_dropped(tracer):
    with with_span(open_request(tracer, name=None)):
        pass
    assert tracer.spans == []


def test_a_route_names_the_span_of_its_request(tracer):
    with with_span(open_request(tracer, name=None)):
        describe_span("complete upload", slide_id="1")
        describe_span(status=200)
    assert tracer.one("complete upload").attributes == {"slide_id": "1", "status": 200}


def test_an_error_is_recorded_by_its_code_and_a_foreign_one_by_its_type_never_by_its_text(tracer):
    with pytest.raises(JobFailed), with_span(open_request(tracer)):
        raise JobFailed(FailReason.MODEL_FAILED, "The file /patients/Meier.svs is broken.")
    with pytest.raises(FileNotFoundError), with_span(open_request(tracer)), with_step("read"):
        raise FileNotFoundError("/patients/Meier.svs")
    assert [span.error for span in tracer.spans] == [JobFailed.code, "FileNotFoundError", "FileNotFoundError"]
    assert "Meier" not in str(tracer.spans)


def test_the_span_before_is_current_again_after_an_error(tracer):
    with with_span(open_request(tracer)) as outer:
        with pytest.raises(ValueError, match="x"), with_step("a"):
            raise ValueError("x")
        with with_step("b"):
            pass
    assert tracer.one("b").parent == outer.traceparent.split("-")[2]
    assert tracer.one("start job").error is None


def test_an_answer_of_a_cache_gives_no_step(tracer):
    with with_span(open_request(tracer)), with_step("load model", least_seconds=3600):
        pass
    assert tracer.names == ["start job"]


def test_a_request_joins_the_trace_of_its_slide(tracer):
    slide = make_traceparent()
    with with_span(open_request(tracer)) as span:
        joined = join_trace(span.traceparent, slide, datetime.now(UTC))
    (recorded,) = tracer.spans
    assert recorded.traceparent == joined
    assert (recorded.trace_id, recorded.parent) == (slide.split("-")[1], slide.split("-")[2])
    assert recorded.link is None


def test_a_clients_own_trace_wins_and_links_to_the_slides(tracer):
    slide, client = make_traceparent(), make_traceparent()
    with with_span(open_request(tracer, parent=client)) as span:
        joined = join_trace(span.traceparent, slide)
    (recorded,) = tracer.spans
    assert (recorded.trace_id, recorded.parent) == (client.split("-")[1], client.split("-")[2])
    assert recorded.link == slide
    assert joined == recorded.traceparent


def test_a_job_of_an_old_slide_has_a_trace_of_its_own_with_a_link(tracer):
    slide, own = make_traceparent(), make_traceparent()
    with with_span(OpenSpan(tracer, "api", "start job", parent=None, traceparent=own)):
        assert join_trace(own, slide, datetime.now(UTC) - JOINED_AGE - timedelta(seconds=1)) == own
    assert tracer.one("start job").link == slide


@pytest.mark.parametrize("slide", [None, "", "00-abc-01"])
def test_a_slide_without_a_trace_leaves_the_request_in_its_own(tracer, slide):
    own = make_traceparent()
    with with_span(OpenSpan(tracer, "api", "start job", parent=None, traceparent=own)):
        assert join_trace(own, slide) == own
    assert tracer.one("start job").parent is None


def test_a_wait_is_recorded_below_what_sent_the_message(tracer):
    cause = make_traceparent()
    record_wait(tracer, "plan", "queue plan", parent=cause, began=10.0, ended=12.5, receives=1)
    (wait,) = tracer.spans
    assert (wait.seconds, wait.parent, wait.trace_id) == (2.5, cause.split("-")[2], cause.split("-")[1])


def test_a_wait_between_two_clocks_is_never_negative(tracer):
    record_wait(tracer, "plan", "queue plan", parent=make_traceparent(), began=12.5, ended=12.4)
    assert tracer.spans[0].seconds == 0


@pytest.mark.parametrize(
    ("parent", "began"),
    [(None, 1.0), ("00-abc-01", 1.0), ("00-6b0dd143673d6c910a9c6fea6b8332a8-8771d1960d27d86e-01", None)],
)
def test_a_wait_without_a_cause_or_a_begin_is_not_recorded(tracer, parent, began):
    record_wait(tracer, "plan", "queue plan", parent=parent, began=began, ended=2.0)
    assert tracer.spans == []
