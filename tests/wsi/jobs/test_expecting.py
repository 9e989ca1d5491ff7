"""The expected start and end of a job: what it waits for, and for how long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.ledger import MemoryLedger
from wsi.jobs.expecting import PLANNING_SECONDS, STITCHING_SECONDS, estimate_wait, measure_wait
from wsi.records.expectations import MOST_JOBS_AHEAD, Expectation, QueueState, WorkerScaling
from wsi.records.jobs import Job, JobOptions
from wsi.states import LIVE_JOB_STATES, JobState

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SCALING = WorkerScaling(start_seconds=180, slow_start_seconds=300, most=20, shards_a_worker=3)
RATE = 100.0


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def job(**changes: Any) -> Job:
    """A planned job of 6,000 tiles in six shards that no worker has begun."""
    fields: dict[str, Any] = {
        "id": UUID(int=1),
        "tenant": UUID(int=2),
        "slide_id": UUID(int=3),
        "model": "m",
        "model_version": "1",
        "model_digest": "d",
        "state": JobState.RUNNING,
        "options": JobOptions(),
        "identity": "i",
        "traceparent": "t",
        "tiles_planned": 6000,
        "shards_total": 6,
        "shards_remaining": 6,
        "created_by": "key:1",
        "created_at": ago(10),
        "updated_at": ago(0),
    }
    return Job(**{**fields, **changes})


def queue(**changes: Any) -> QueueState:
    return QueueState(**{"tiles_per_second": RATE, **changes})


def seconds(at: datetime | None) -> float:
    assert at is not None
    return (at - NOW).total_seconds()


@pytest.mark.parametrize("state", [state for state in JobState if state.is_final])
def test_a_job_that_ended_expects_nothing_and_asks_nothing(state: JobState) -> None:
    books = MemoryLedger(lambda: NOW)  # which has no such job
    assert measure_wait(job(state=state), ledger=books, scaling=SCALING, now=NOW) == Expectation()


def test_without_a_worker_it_waits_for_one_to_start() -> None:
    found = estimate_wait(job(), queue(waiting_since=NOW), SCALING, NOW)
    assert found.waiting_for == "a worker is starting"
    assert seconds(found.start_at) == 180
    # Two workers are started for six shards.
    assert seconds(found.end_at) == 180 + 6000 / (2 * RATE) + STITCHING_SECONDS


def test_what_a_worker_has_taken_to_start_is_no_longer_expected() -> None:
    found = estimate_wait(job(), queue(waiting_since=ago(100)), SCALING, NOW)
    assert seconds(found.start_at) == 80


def test_a_worker_that_is_late_is_expected_after_the_slow_time() -> None:
    found = estimate_wait(job(), queue(waiting_since=ago(200)), SCALING, NOW)
    assert seconds(found.start_at) == 100


def test_a_worker_that_never_came_is_not_expected() -> None:
    found = estimate_wait(job(), queue(waiting_since=ago(301)), SCALING, NOW)
    assert (found.start_at, found.end_at) == (None, None)
    assert found.waiting_for is not None
    assert found.waiting_for.startswith("no worker could be started so far")


def test_jobs_before_it_are_shared_among_the_workers_that_are_up() -> None:
    ahead = queue(jobs_ahead=12, tiles_ahead=40_000, shards_ahead=40, workers=20)
    found = estimate_wait(job(), ahead, SCALING, NOW)
    assert found.waiting_for == "12 jobs are before it"
    assert seconds(found.start_at) == 40_000 / (20 * RATE)
    # No more than six workers compute six shards.
    assert seconds(found.end_at) == 40_000 / (20 * RATE) + 6000 / (6 * RATE) + STITCHING_SECONDS


def test_no_more_workers_are_expected_than_there_may_be() -> None:
    ahead = queue(jobs_ahead=1, tiles_ahead=100_000, shards_ahead=1_000, workers=1)
    assert seconds(estimate_wait(job(), ahead, SCALING, NOW).start_at) == 100_000 / (20 * RATE)


def test_one_job_is_not_called_jobs() -> None:
    found = estimate_wait(job(), queue(jobs_ahead=1, tiles_ahead=100, workers=1), SCALING, NOW)
    assert found.waiting_for == "1 job is before it"


def test_both_reasons_are_said() -> None:
    found = estimate_wait(job(), queue(jobs_ahead=2, waiting_since=NOW), SCALING, NOW)
    assert found.waiting_for == "a worker is starting, and 2 jobs are before it"


def test_with_a_free_worker_it_is_about_to_begin() -> None:
    found = estimate_wait(job(), queue(workers=1), SCALING, NOW)
    assert (found.waiting_for, found.start_at) == ("a worker is about to take it", NOW)


def test_behind_more_jobs_than_are_counted_no_time_is_said() -> None:
    found = estimate_wait(job(), queue(jobs_ahead=MOST_JOBS_AHEAD, tiles_ahead=1, workers=1), SCALING, NOW)
    assert found == Expectation(waiting_for="1,000 jobs or more are before it")


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.PLANNING])
def test_before_its_plan_a_job_expects_a_start_and_no_end(state: JobState) -> None:
    found = estimate_wait(job(state=state, created_at=NOW, tiles_planned=0), queue(workers=1), SCALING, NOW)
    assert found == Expectation(start_at=NOW + timedelta(seconds=PLANNING_SECONDS), waiting_for="it is being planned")


def test_a_job_that_runs_ends_by_its_own_rate() -> None:
    running = job(first_lease_at=ago(30), tiles_inferred=4000, tiles_per_second=250.0)
    found = estimate_wait(running, queue(workers=3), SCALING, NOW)
    assert (found.start_at, found.waiting_for) == (None, None)
    assert seconds(found.end_at) == 2000 / 250 + STITCHING_SECONDS


def test_before_its_first_report_a_job_ends_by_the_rate_of_its_model() -> None:
    found = estimate_wait(job(first_lease_at=ago(1)), queue(workers=3), SCALING, NOW)
    assert seconds(found.end_at) == 6000 / (3 * RATE) + STITCHING_SECONDS


def test_stitching_that_is_late_ends_now() -> None:
    found = estimate_wait(job(state=JobState.STITCHING, updated_at=ago(60)), queue(), SCALING, NOW)
    assert (found.end_at, found.waiting_for) == (NOW, "its results are being put together")


@given(
    state=st.sampled_from(LIVE_JOB_STATES),
    waited=st.none() | st.floats(0, 1e4),
    ahead=st.integers(0, 10**9),
    shards=st.integers(0, 10**5),
    workers=st.integers(0, 500),
    rate=st.none() | st.floats(0.1, 1e5),
    planned=st.integers(0, 10**7),
)
def test_nothing_is_expected_in_the_past_and_no_end_before_a_start(
    state: JobState, waited: float | None, ahead: int, shards: int, workers: int, rate: float | None, planned: int
) -> None:
    found = estimate_wait(
        job(state=state, tiles_planned=planned),
        QueueState(
            jobs_ahead=min(ahead, 3),
            tiles_ahead=ahead,
            shards_ahead=shards,
            workers=workers,
            waiting_since=None if waited is None else ago(waited),
            tiles_per_second=rate,
        ),
        SCALING,
        NOW,
    )
    assert found.start_at is None or found.start_at >= NOW
    assert found.end_at is None or found.end_at >= (found.start_at or NOW)
    assert found.waiting_for
