"""The expected start and end of a job, from the state of the queue."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from wsi.planning.estimate import choose_rate
from wsi.ports.ledger import TenantLedger
from wsi.records.expectations import MOST_JOBS_AHEAD, NOTHING_KNOWN, Expectation, QueueState, WorkerScaling
from wsi.records.jobs import Job
from wsi.states import JobState

#: From a job's request to its first waiting shard: two messages through the relay and a plan
#: (`benchmarks.preparing`: 1 to 2 s).
PLANNING_SECONDS = 5.0
#: From the last tile to the results: a message and `benchmarks.stitching`'s 2 to 3 s.
STITCHING_SECONDS = 5.0


def measure_wait(job: Job, *, ledger: TenantLedger, scaling: WorkerScaling, now: datetime) -> Expectation:
    """Return when the job is expected to begin and to end. A job that ended costs no query."""
    if job.state.is_final:
        return NOTHING_KNOWN
    return estimate_wait(job, ledger.measure_queue(job.id), scaling, now)


def estimate_wait(job: Job, queue: QueueState, scaling: WorkerScaling, now: datetime) -> Expectation:
    """Return when the job is expected to begin and to end, and what it waits for in plain words."""
    if job.state.is_final:
        return NOTHING_KNOWN
    if job.state is JobState.STITCHING:
        end = job.updated_at + timedelta(seconds=STITCHING_SECONDS)
        return Expectation(end_at=max(now, end), waiting_for="its results are being put together")
    rate = choose_rate(queue.tiles_per_second)
    if job.first_lease_at is not None:
        left = job.seconds_left
        if left is None:
            left = _estimate_work(job, rate, queue, scaling)
        return Expectation(end_at=now + timedelta(seconds=left + STITCHING_SECONDS))
    if queue.jobs_ahead >= MOST_JOBS_AHEAD:
        return Expectation(waiting_for=f"{MOST_JOBS_AHEAD:,} jobs or more are before it")
    worker = _estimate_worker(queue, scaling, now)
    if worker is None:
        return Expectation(waiting_for="no worker could be started so far; the installation may have no free machine")
    workers = _count_workers(queue.shards_ahead + job.shards_remaining, queue, scaling)
    start = worker + queue.tiles_ahead / (rate * workers)
    if job.state is not JobState.RUNNING:
        waited = (now - job.created_at).total_seconds()
        start += max(0.0, PLANNING_SECONDS - waited)
        return Expectation(start_at=now + timedelta(seconds=start), waiting_for="it is being planned")
    end = start + _estimate_work(job, rate, queue, scaling) + STITCHING_SECONDS
    return Expectation(
        start_at=now + timedelta(seconds=start),
        end_at=now + timedelta(seconds=end),
        waiting_for=_describe(queue, is_starting=worker > 0),
    )


def _estimate_worker(queue: QueueState, scaling: WorkerScaling, now: datetime) -> float | None:
    """Return the seconds until a worker is up: 0 if one is. One that is not up after the usual time is expected after
    the slow one; after that, nothing is known."""
    if queue.workers:
        return 0.0
    waited = (now - queue.waiting_since).total_seconds() if queue.waiting_since is not None else 0.0
    return next(
        (total - waited for total in (scaling.start_seconds, scaling.slow_start_seconds) if total > waited), None
    )


def _estimate_work(job: Job, rate: float, queue: QueueState, scaling: WorkerScaling) -> float:
    """Return the seconds of the job's own tiles. No more workers than it has shards compute them."""
    shards = max(1, job.shards_remaining)
    return job.tiles_left / (rate * min(shards, _count_workers(shards, queue, scaling)))


def _count_workers(shards: int, queue: QueueState, scaling: WorkerScaling) -> int:
    """Return how many workers are expected to share the work: those that are up, or as many as are started for so many
    shards."""
    started = math.ceil(max(1, shards) / scaling.shards_a_worker)
    return max(1, queue.workers, min(started, scaling.most))


def _describe(queue: QueueState, *, is_starting: bool) -> str:
    before = {0: "", 1: "1 job is before it"}.get(queue.jobs_ahead, f"{queue.jobs_ahead:,} jobs are before it")
    parts = ("a worker is starting" if is_starting else "", before)
    return ", and ".join(part for part in parts if part) or "a worker is about to take it"
