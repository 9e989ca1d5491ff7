"""What operators watch and what a job's expected start is estimated from, counted in the memory ledger: the counterpart
of `adapters/postgres/measurements/vitals.py` and `queue_state.py`."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from uuid import UUID

from adapters.settings.scaling import IDLE_SECONDS
from tests.fakes.ledger_books import Books
from wsi.records.expectations import MOST_JOBS_AHEAD, QueueState
from wsi.records.jobs import Job, Priority
from wsi.records.operations.vitals import Vitals
from wsi.states import LIVE_JOB_STATES, JobState, ShardState


def read(books: Books, *, seconds: float, stalled_seconds: float) -> Vitals:
    since, still = books.ago(seconds), books.ago(stalled_seconds)
    live = [job for job in books.jobs.values() if job.finished_at is None]
    ended = [job for job in books.jobs.values() if job.finished_at is not None and job.finished_at > since]
    waiting = [job for job in live if job.state is JobState.RUNNING and not _is_held(books, job)]
    busy = any(_is_held(books, job) for job in live)
    stalled = [job for job in live if job.updated_at < still and not (busy and job in waiting)]
    unsent = [entry.created_at for entry in books.outbox if entry.sent_at is None]
    live_states, final_states = Counter(job.state for job in live), Counter(job.state for job in ended)
    return Vitals(
        live={state: live_states[state] for state in LIVE_JOB_STATES},
        waiting=len(waiting),
        stalled=len(stalled),
        outbox_seconds=(books.now() - min(unsent)).total_seconds() if unsent else 0.0,
        line_seconds={priority: _measure_line(books, priority) for priority in Priority},
        finished={state: final_states[state] for state in JobState if state.is_final},
        tiles=sum(job.tiles_inferred for job in ended),
        first_lease_seconds=tuple(
            _since_asked(job, job.first_lease_at)
            for job in live + ended
            if job.first_lease_at is not None and job.first_lease_at > since
        ),
        result_seconds=tuple(
            _since_asked(job, job.finished_at) for job in ended if job.state.is_success and job.finished_at is not None
        ),
    )


def _measure_line(books: Books, priority: Priority) -> float:
    waiting = [
        books.jobs[job_id].updated_at
        for job_id, index in books.line
        if books.jobs[job_id].priority is priority and books.shards[job_id][index].state is ShardState.QUEUED
    ]
    return (books.now() - min(waiting)).total_seconds() if waiting else 0.0


def _is_held(books: Books, job: Job) -> bool:
    return any(shard.state is ShardState.RUNNING for shard in books.shards.get(job.id, ()))


def _since_asked(job: Job, at: datetime) -> float:
    return (at - job.created_at).total_seconds()


def measure_queue(books: Books, job_id: UUID) -> QueueState:
    this = books.jobs[job_id]
    ahead = [
        job
        for job in books.jobs.values()
        if job.finished_at is None and job.state is not JobState.STITCHING and _place(job) < _place(this)
    ][:MOST_JOBS_AHEAD]
    unbegun = [job.updated_at for job in (*ahead, this) if job.state is JobState.RUNNING and job.first_lease_at is None]
    owners = {
        shard.lease_owner
        for shards in books.shards.values()
        for shard in shards
        if shard.lease_until is not None and shard.lease_until > books.now()
    }
    ended = sorted(
        (job for job in books.jobs.values() if job.finished_at is not None),
        key=lambda job: job.finished_at or job.created_at,
        reverse=True,
    )
    idle = any(
        job.first_lease_at is not None and job.finished_at is not None and job.finished_at > books.ago(IDLE_SECONDS)
        for job in ended
    )
    alike = {job.id for job in [job for job in ended[:200] if job.model_digest == this.model_digest][:20]}
    rates = [report.rate for (job, _), report in books.reports.items() if job in alike and report.rate is not None]
    version = books.job_models.get(this.id)
    return QueueState(
        jobs_ahead=len(ahead),
        tiles_ahead=sum(job.tiles_left for job in ahead),
        shards_ahead=sum(job.shards_remaining for job in ahead),
        workers=max(len(owners), int(idle)),
        waiting_since=min(unbegun, default=None),
        tiles_per_second=sum(rates) / len(rates) if rates else version and version.card.get("tiles_per_second"),
    )


def _place(job: Job) -> tuple[int, datetime, UUID]:
    """Where a job stands in the queue."""
    return list(Priority).index(job.priority), job.created_at, job.id
