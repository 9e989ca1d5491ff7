"""Which spans belong to a job, and their order."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tessera.traces.selection import place_spans, select_job
from tests.tessera.traces.spans import JOB, make_trace, span


def test_another_job_of_the_slide_is_left_out_with_everything_below_it():
    other = [
        span(20, "api", "start job", 5.0, 5.5, 1, job_id="other"),
        span(21, "plan", "plan", 6.0, 7.0, 20, job_id="other"),
        span(22, "plan", "make plan", 6.0, 7.0, 21),
    ]
    assert {one.span_id for one in select_job([*other, *make_trace()], JOB)} == {one.span_id for one in make_trace()}


def test_a_span_that_was_sent_twice_is_one():
    assert len(select_job([*make_trace(), *make_trace()], JOB)) == len(make_trace())


@given(st.permutations(make_trace()))
def test_the_order_does_not_depend_on_the_order_of_arrival(spans):
    placed = place_spans(select_job(spans, JOB), job_ended=True)
    assert [one.span.name for one in placed] == [
        *("begin upload", "complete upload", "start job", "outbox shards-normal"),
        *("queue shards-normal", "queue shards-normal", "lease shard", "lease shard"),
        *("compute shard", "forward", "settle shard"),
    ]
    assert [one.depth for one in placed] == [0, 1, 1, 2, 2, 2, 2, 2, 3, 4, 3]
    assert [one.span.name for one in placed if one.waits] == ["outbox shards-normal", *["queue shards-normal"] * 2]


def test_a_span_whose_parent_is_of_a_clients_own_trace_is_a_root():
    placed = place_spans([span(3, "api", "start job", 0.0, 1.0, 99)], job_ended=True)
    assert [one.depth for one in placed] == [0]


def test_an_attempt_without_an_end_is_lost_once_another_began():
    lost = [one.span.attributes["attempt"] for one in place_spans(make_trace(), job_ended=False) if one.is_lost]
    assert lost == [1]


def test_the_latest_attempt_is_lost_only_when_the_job_has_ended():
    running = [one for one in make_trace() if one.name != "settle shard"]
    assert [one.span.attributes["attempt"] for one in place_spans(running, job_ended=False) if one.is_lost] == [1]
    assert [one.span.attributes["attempt"] for one in place_spans(running, job_ended=True) if one.is_lost] == [1, 2]


def test_spans_that_name_each_other_as_parents_end_the_search_too():
    one = span(1, "api", "a", 0.0, 1.0, 2)
    assert len(select_job([one, replace(span(2, "api", "b", 0.0, 1.0, 1))], JOB)) == 2
