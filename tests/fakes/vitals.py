"""What the operators watch, counted in the memory ledger: the counterpart of `adapters/postgres/vitals.py`."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from tests.fakes.ledger_books import Books
from wsi.records.jobs import Job
from wsi.records.vitals import Vitals
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


def _is_held(books: Books, job: Job) -> bool:
    return any(shard.state is ShardState.RUNNING for shard in books.shards.get(job.id, ()))


def _since_asked(job: Job, at: datetime) -> float:
    return (at - job.created_at).total_seconds()
