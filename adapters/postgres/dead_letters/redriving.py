"""Redriving of dead letters: what a letter was about goes on, if anybody still wants it. Each letter once."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from adapters.postgres import jobs, models, registrations, rows, slides
from adapters.postgres.audit import note
from adapters.postgres.connections import Cursor, Row
from adapters.postgres.moves import lock_job, wake_shards, wake_stage
from wsi.errors import TesseraError
from wsi.jobs.jobs import make_retry
from wsi.ledger_rules import (
    QUEUES_OF_TOPIC,
    STUCK_TOPIC,
    UNINSPECTED_SENTENCE,
    check_readable,
    check_restatable,
    needs_deidentification,
)
from wsi.records.identity import Actor, Role
from wsi.records.jobs import Job
from wsi.records.operations.dead_letters import (
    REDRIVEN_REASONS,
    DeadLetter,
    LetterOutcome,
    LetterSubject,
    read_subject,
)
from wsi.states import JobState, SlideState
from wsi.tracing import make_traceparent

NOT_WANTED = "nobody waits for it any more"
SENT_AGAIN = "its message was sent again"
UNREADABLE = "it cannot be read"
INSPECTED_AGAIN = "the slide is inspected again"


def list_letters(cursor: Cursor, *, queue: str | None, only_open: bool, limit: int) -> tuple[DeadLetter, ...]:
    """Return letters, the oldest first."""
    found = cursor.execute(
        """
        SELECT * FROM dead_letters
        WHERE (%(queue)s::text IS NULL OR queue = %(queue)s) AND (settled_at IS NULL OR NOT %(only_open)s)
        ORDER BY id LIMIT %(limit)s
        """,
        {"queue": queue, "only_open": only_open, "limit": limit},
    )
    return tuple(map(_read_letter, found))


def redrive_letter(cursor: Cursor, letter_id: int, *, actor: str) -> DeadLetter | None:
    """Have what the letter was about go on, and return the letter; None if it was settled already. The audit log names
    the actor."""
    row = cursor.execute(
        "SELECT * FROM dead_letters WHERE id = %s AND settled_at IS NULL FOR UPDATE", (letter_id,)
    ).fetchone()
    if row is None:
        return None
    try:
        with cursor.connection.transaction():
            done = _redrive(cursor, row, actor)
    except TesseraError as error:
        done = error.sentence
    settled = cursor.execute(
        "UPDATE dead_letters SET settled_at = now(), redrive = %s WHERE id = %s RETURNING *", (done, letter_id)
    ).fetchone()
    assert settled is not None, "the row is locked"
    return _read_letter(settled)


def _redrive(cursor: Cursor, row: Row, actor: str) -> str:
    """Return what was done, in a few words. Raises Conflict."""
    about = read_subject(row["queue"], row["body"])
    if about is None:
        return UNREADABLE
    if about.slide_id is not None:
        return _redrive_slide(cursor, about.slide_id, actor)
    if about.registration is not None:
        return _redrive_package(cursor, about.registration)
    if about.job_id is not None and row["queue"] != "notify" and (job := lock_job(cursor, about.job_id)):
        return _redrive_job(cursor, row["queue"], about, job, actor)
    return NOT_WANTED


def _redrive_slide(cursor: Cursor, slide_id: UUID, actor: str) -> str:
    slide = slides.lock(cursor, slide_id)
    is_left = slide.state is SlideState.REJECTED and needs_deidentification(slide)
    if slide.state is SlideState.UPLOADED or is_left:
        slides.send_to_inspection(cursor, slide)
        return SENT_AGAIN
    if slide.state is not SlideState.REJECTED or slide.sentence != UNINSPECTED_SENTENCE:
        return NOT_WANTED
    check_restatable(slide, datetime.now(UTC))
    slides.move(cursor, slide_id, SlideState.UPLOADED, source=SlideState.REJECTED, reason=None, sentence=None)
    slides.send_to_inspection(cursor, slide)
    _note(cursor, slide.tenant, actor, "slide.redrive", slide_id)
    return INSPECTED_AGAIN


def _redrive_package(cursor: Cursor, registration_id: UUID) -> str:
    row = cursor.execute(
        "SELECT * FROM model_registrations WHERE id = %s AND state = 'CHECKING' FOR UPDATE", (registration_id,)
    ).fetchone()
    if row is None:
        return NOT_WANTED
    registrations.ask_for_trial(cursor, rows.read_registration(row))
    return SENT_AGAIN


def _redrive_job(cursor: Cursor, queue: str, about: LetterSubject, job: Job, actor: str) -> str:
    if job.state is JobState.FAILED and job.reason in REDRIVEN_REASONS:
        return _retry(cursor, job, actor)
    if about.shard is not None and job.state is JobState.RUNNING and _waits(cursor, job, about.shard):
        wake_shards(cursor, job, [about.shard])
        return SENT_AGAIN
    topic = STUCK_TOPIC.get(job.state)
    if about.shard is None and topic is not None and queue in QUEUES_OF_TOPIC[topic]:
        wake_stage(cursor, job, topic)
        return SENT_AGAIN
    return NOT_WANTED


def _retry(cursor: Cursor, failed: Job, actor: str) -> str:
    """Add a retry of the job, unless somebody was faster. A final state stays final: the retry's plan takes over the
    finished shards, and only the remaining ones are computed."""
    slide = slides.lock_shared(cursor, failed.slide_id)
    check_readable(slide)
    retry = make_retry(failed, slide, models.get_of_job(cursor, failed.id), make_traceparent())
    equal = jobs.find_equal(cursor, failed.tenant, retry.identity, finished=True, live=True)
    if equal is not None:
        return f"{NOT_WANTED}: job {equal.id} answers it"
    requester = Actor(tenant=failed.tenant, subject=failed.created_by, role=Role.ANALYST)
    created = jobs.add(cursor, requester, retry, slide)
    _note(cursor, failed.tenant, actor, "job.redrive", failed.id, {"by": str(created.id)})
    return f"job {created.id} computes the rest"


def _waits(cursor: Cursor, job: Job, index: int) -> bool:
    """Return whether the shard waits for a message."""
    query = "SELECT FROM shards WHERE job_id = %s AND index = %s AND state = 'QUEUED' AND waits_in IS NULL"
    return cursor.execute(query, (job.id, index)).fetchone() is not None


def _note(
    cursor: Cursor, tenant: UUID, actor: str, action: str, subject: UUID, detail: dict[str, str] | None = None
) -> None:
    note(cursor, Actor(tenant=tenant, subject=actor, role=Role.ADMIN), action, subject, detail)


def _read_letter(row: Row) -> DeadLetter:
    about = read_subject(row["queue"], row["body"]) or LetterSubject()
    return DeadLetter(
        id=row["id"],
        queue=row["queue"],
        slide_id=str(about.slide_id) if about.slide_id is not None else None,
        job_id=str(about.job_id) if about.job_id is not None else None,
        shard=about.shard,
        receives=row["receives"],
        outcome=LetterOutcome(row["outcome"]),
        sent_at=row["sent_at"],
        arrived_at=row["arrived_at"],
        settled_at=row["settled_at"],
        redrive=row["redrive"],
    )
