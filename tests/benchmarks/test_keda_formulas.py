"""KEDA's formulas: its own test cases, the table of F-11, and what holds for any numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.keda_scaling.formulas import (
    QueueCount,
    ScaledJob,
    combine_triggers,
    compute_effective_max_scale,
    count_jobs_to_create,
)

STRATEGIES = ("default", "accurate", "eager", "custom")
counts = st.lists(st.builds(QueueCount, st.integers(0, 500), st.integers(0, 500)), min_size=1, max_size=4)
jobs = st.builds(
    ScaledJob,
    strategy=st.sampled_from(STRATEGIES),
    scale_on_in_flight=st.booleans(),
    queue_length=st.integers(1, 10),
    calculation=st.sampled_from(["sum", "max", "min", "avg"]),
    max_replicas=st.integers(1, 100),
    running_share=st.just(1.0),
)


@pytest.mark.parametrize(
    ("strategy", "scale", "running", "pending", "most", "expected"),
    [
        ("default", 3, 2, 0, 5, 1),
        ("default", 2, 0, 0, 5, 2),
        ("accurate", 3, 2, 0, 5, 3),
        ("accurate", 5, 2, 0, 5, 3),
        ("accurate", 3, 4, 2, 10, 1),
        ("accurate", 5, 4, 2, 5, 1),
    ],
)
def test_cases_of_kedas_own_tests(strategy, scale, running, pending, most, expected):
    """`TestDefaultScalingStrategy` and `TestAccurateScalingStrategy` in scale_jobs_test.go at d6a7057."""
    job = ScaledJob(strategy=strategy, max_replicas=most)
    assert compute_effective_max_scale(job, scale, running=running, pending=pending) == expected


@pytest.mark.parametrize(
    ("deduction", "share", "scale", "running", "most", "expected"),
    [(1, 0.5, 3, 2, 5, 1), (1, 0.5, 10, 0, 10, 9), (2, 0.0, 3, 2, 5, 1), (-2, 0.0, 3, 2, 4, 4)],
)
def test_cases_of_kedas_own_tests_of_custom(deduction, share, scale, running, most, expected):
    job = ScaledJob(strategy="custom", max_replicas=most, deduction=deduction, running_share=share)
    assert compute_effective_max_scale(job, scale, running=running, pending=0) == expected


def one_message_a_pod(job: ScaledJob, arrivals: dict[int, int]) -> tuple[int, int, int]:
    """(pods, pods that found nothing, s until all is done) when a pod boots for 240 s, takes one message, works for
    600 s and ends: how F-11 was found. KEDA polls every 30 s."""
    visible = in_flight = done = idle = 0
    asks: list[int] = []  #: when each pending pod asks for a message
    ends: list[int] = []  #: when each working pod ends
    pods, total = 0, sum(arrivals.values())
    for now in range(0, 7200, 5):
        visible += arrivals.get(now, 0)
        for _ in [at for at in asks if at == now]:
            if visible:
                visible, in_flight = visible - 1, in_flight + 1
                ends.append(now + 600)
            else:
                idle += 1
        finished = sum(at == now for at in ends)
        in_flight, done = in_flight - finished, done + finished
        asks, ends = [at for at in asks if at > now], [at for at in ends if at > now]
        if done == total:
            return pods, idle + len(asks), now
        if now % 30 == 0:
            count = QueueCount(visible, in_flight)
            new = count_jobs_to_create(job, [count], running=len(asks) + len(ends), pending=len(asks))
            asks += [now + 240] * new
            pods += new
    raise AssertionError("not done")


@pytest.mark.parametrize(
    ("strategy", "in_flight", "pods", "idle", "seconds"),
    [
        ("default", True, 6, 0, 1140),
        ("default", False, 6, 0, 1680),
        ("accurate", True, 20, 14, 1080),
        ("accurate", False, 6, 0, 1140),
        ("eager", True, 22, 16, 1110),
    ],
)
def test_bursts_of_three_and_three_as_in_f11(strategy, in_flight, pods, idle, seconds):
    job = ScaledJob(strategy=strategy, scale_on_in_flight=in_flight, queue_length=1, max_replicas=10)
    assert one_message_a_pod(job, {0: 3, 300: 3}) == (pods, idle, seconds)


@pytest.mark.parametrize(
    ("strategy", "in_flight", "pods", "idle"),
    [
        ("default", True, 8, 0),
        ("default", False, 8, 0),
        ("accurate", True, 14, 6),
        ("accurate", False, 8, 0),
        ("eager", True, 14, 6),
    ],
)
def test_a_burst_of_eight_as_in_f11(strategy, in_flight, pods, idle):
    job = ScaledJob(strategy=strategy, scale_on_in_flight=in_flight, queue_length=1, max_replicas=10)
    assert one_message_a_pod(job, {0: 8}) == (pods, idle, 840)


def test_triggers_are_added_before_they_are_rounded_up():
    job = ScaledJob(queue_length=3, calculation="sum")
    assert combine_triggers(job, [QueueCount(1, 0)] * 3).scale == 1
    assert combine_triggers(replace(job, calculation="max"), [QueueCount(4, 0), QueueCount(5, 0)]).scale == 2


def test_a_queue_at_its_activation_length_starts_nothing():
    job = ScaledJob(activation_length=2)
    assert count_jobs_to_create(job, [QueueCount(2, 0)], running=0, pending=0) == 0
    assert count_jobs_to_create(job, [QueueCount(3, 0)], running=0, pending=0) == 1


@given(jobs, counts, st.integers(0, 100), st.integers(0, 100))
def test_the_most_is_never_passed(job, counts, running, pending):
    pending = min(pending, running)
    created = count_jobs_to_create(job, counts, running=running, pending=pending)
    assert created >= 0
    assert running + created <= max(running, job.max_replicas)


@given(jobs, st.integers(0, 100))
def test_empty_queues_start_nothing(job, running):
    assert count_jobs_to_create(job, [QueueCount(0, 0)] * 3, running=running, pending=0) == 0


@given(counts, st.integers(1, 10), st.integers(1, 100))
def test_the_sum_is_the_messages_over_the_queue_length(counts, queue_length, most):
    job = ScaledJob(queue_length=queue_length, calculation="sum", max_replicas=most)
    total = sum(count.visible + count.in_flight for count in counts)
    exact = min(most, math.ceil(total / queue_length))
    above = exact + 1 if exact < most else exact  # floats: one more at times
    assert combine_triggers(job, counts).scale in (exact, above)


@given(counts, st.integers(1, 10))
def test_calculations_stand_in_their_order(counts, queue_length):
    scales = {
        name: combine_triggers(ScaledJob(queue_length=queue_length, calculation=name), counts).scale
        for name in ("min", "avg", "max", "sum")
    }
    assert scales["min"] <= scales["avg"] <= scales["max"] <= scales["sum"]


@given(jobs, counts, st.integers(0, 50))
def test_more_messages_never_start_fewer(job, counts, more):
    if job.calculation in ("min", "avg"):  # a queue that becomes active changes what is averaged
        counts = [QueueCount(count.visible + 1 + job.activation_length, count.in_flight) for count in counts]
    grown = [QueueCount(count.visible + more, count.in_flight) for count in counts]
    before, after = (count_jobs_to_create(job, these, running=0, pending=0) for these in (counts, grown))
    assert before <= after


@given(jobs, counts)
def test_custom_without_deduction_and_with_all_that_run_is_default(job, counts):
    custom, default = (replace(job, strategy=name) for name in ("custom", "default"))
    for running in (0, 3, 40):
        assert count_jobs_to_create(custom, counts, running=running, pending=0) == count_jobs_to_create(
            default, counts, running=running, pending=0
        )
