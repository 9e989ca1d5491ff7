"""Arrivals of dead letters: each is kept, and its work is sent again or ended with a reason."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from adapters.postgres import registrations, rows, shards, slides
from adapters.postgres.connections import Cursor, Row, Transactions
from adapters.postgres.moves import append_event, lock_job, wake_shards, wake_stage
from wsi.errors import FailReason, RejectReason
from wsi.ledger_rules import GIVEN_UP, QUEUES_OF_TOPIC, STUCK_TOPIC, UNINSPECTED_SENTENCE, needs_deidentification
from wsi.models.registration_rules import UNTRIED
from wsi.records.jobs import Job
from wsi.records.operations.dead_letters import (
    ArrivedLetter,
    LetterOutcome,
    LetterSubject,
    describe_undelivered,
    read_subject,
)
from wsi.states import JobState, RegistrationState, ShardState, SlideState


class PostgresDeadLetters(Transactions):
    """The sweep's operations on dead letters."""

    def settle_letter(self, letter: ArrivedLetter) -> LetterOutcome:
        with self._transaction() as cursor:
            # Of two that received the same letter, the second waits here until the first has committed.
            added = cursor.execute(
                """
                INSERT INTO dead_letters (message_id, queue, body, receives, outcome, sent_at)
                VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (message_id) DO NOTHING RETURNING id
                """,
                (
                    letter.message_id,
                    letter.queue,
                    letter.text.replace("\0", "\ufffd"),
                    letter.receives,
                    LetterOutcome.PAST.value,
                    letter.sent_at,
                ),
            ).fetchone()
            if added is None:
                return _read_outcome(cursor, letter)
            outcome = _settle(cursor, letter, added["id"])
            cursor.execute(
                "UPDATE dead_letters SET outcome = %s, settled_at = CASE WHEN NOT %s THEN now() END WHERE id = %s",
                (outcome.value, outcome.is_open, added["id"]),
            )
            return outcome


def _read_outcome(cursor: Cursor, letter: ArrivedLetter) -> LetterOutcome:
    row = cursor.execute("SELECT outcome FROM dead_letters WHERE message_id = %s", (letter.message_id,)).fetchone()
    assert row is not None, "a conflicting letter is committed and never removed"
    return LetterOutcome(row["outcome"])


def _settle(cursor: Cursor, letter: ArrivedLetter, letter_id: int) -> LetterOutcome:
    about = read_subject(letter.queue, letter.text)
    if about is None:
        return LetterOutcome.UNREADABLE
    if about.is_newer:
        return LetterOutcome.KEPT
    if about.slide_id is not None:
        return _settle_slide(cursor, letter, letter_id, about.slide_id)
    if about.registration is not None:
        return _settle_package(cursor, letter, letter_id, about.registration)
    if letter.queue == "notify":
        return LetterOutcome.RESENT  # what is due in SQL wakes its function again, every five minutes
    if about.job_id is not None and (job := lock_job(cursor, about.job_id)):
        return _settle_job(cursor, letter, letter_id, about, job)
    return LetterOutcome.PAST


def _settle_slide(cursor: Cursor, letter: ArrivedLetter, letter_id: int, slide_id: UUID) -> LetterOutcome:
    row = cursor.execute("SELECT updated_at, state FROM slides WHERE id = %s FOR UPDATE", (slide_id,)).fetchone()
    if row is None:
        return LetterOutcome.PAST
    slide = slides.get(cursor, slide_id)
    if slide.state is SlideState.REJECTED and needs_deidentification(slide):
        return LetterOutcome.KEPT  # its files still identify the patient
    if slide.state is not SlideState.UPLOADED:
        return LetterOutcome.PAST
    if _is_first(cursor, letter, letter_id, since=row["updated_at"]):
        cursor.execute("UPDATE slides SET woken_at = now() WHERE id = %s", (slide_id,))
        slides.send_to_inspection(cursor, slide)
        return LetterOutcome.RESENT
    slides.reject(cursor, slide_id, RejectReason.DAMAGED, UNINSPECTED_SENTENCE)
    return LetterOutcome.ENDED


def _settle_package(cursor: Cursor, letter: ArrivedLetter, letter_id: int, registration_id: UUID) -> LetterOutcome:
    row = cursor.execute(
        "SELECT * FROM model_registrations WHERE id = %s AND state = 'CHECKING' FOR UPDATE", (registration_id,)
    ).fetchone()
    if row is None:
        return LetterOutcome.PAST
    if _is_first(cursor, letter, letter_id, since=row["updated_at"]):
        registrations.ask_for_trial(cursor, rows.read_registration(row))
        return LetterOutcome.RESENT
    registrations.reject(cursor, registration_id, RegistrationState.CHECKING, *UNTRIED)
    return LetterOutcome.ENDED


def _settle_job(cursor: Cursor, letter: ArrivedLetter, letter_id: int, about: LetterSubject, job: Job) -> LetterOutcome:
    if about.shard is not None:
        outcome = _settle_shard(cursor, letter, letter_id, job, about.shard)
    elif letter.queue not in QUEUES_OF_TOPIC.get(STUCK_TOPIC.get(job.state, ""), ()):
        outcome = LetterOutcome.PAST
    elif _is_first(cursor, letter, letter_id, since=job.updated_at):
        cursor.execute("UPDATE jobs SET woken_at = now() WHERE id = %s", (job.id,))
        wake_stage(cursor, job, STUCK_TOPIC[job.state])
        outcome = LetterOutcome.RESENT
    else:
        shards.fail_job(cursor, job.id, *GIVEN_UP[job.state])
        outcome = LetterOutcome.ENDED
    if outcome is not LetterOutcome.PAST:
        append_event(cursor, job, "dead_letter", {"queue": letter.queue, "shard": about.shard, "outcome": outcome})
    return outcome


def _settle_shard(cursor: Cursor, letter: ArrivedLetter, letter_id: int, job: Job, index: int) -> LetterOutcome:
    shard = _lock_shard(cursor, job, index)
    if job.state is not JobState.RUNNING or shard is None or shard["state"] != ShardState.QUEUED:
        return LetterOutcome.PAST
    if shard["waits_in"] is not None:
        return LetterOutcome.PAST  # its message is still to come
    leased_at: datetime | None = shard["leased_at"]
    was_held = leased_at is not None and letter.sent_at is not None and leased_at >= letter.sent_at
    if was_held or _is_first(cursor, letter, letter_id, since=leased_at):
        wake_shards(cursor, job, [index])
        return LetterOutcome.RESENT
    shards.fail_job(cursor, job.id, FailReason.UNDELIVERED, describe_undelivered(index))
    return LetterOutcome.ENDED


def _lock_shard(cursor: Cursor, job: Job, index: int) -> Row | None:
    query = "SELECT state, waits_in, leased_at FROM shards WHERE job_id = %s AND index = %s FOR UPDATE"
    return cursor.execute(query, (job.id, index)).fetchone()


def _is_first(cursor: Cursor, letter: ArrivedLetter, letter_id: int, *, since: datetime | None) -> bool:
    """Return whether no other letter with this body arrived since the work moved last."""
    earlier = cursor.execute(
        """
        SELECT FROM dead_letters
        WHERE queue = %s AND body = %s AND id <> %s AND (%s::timestamptz IS NULL OR arrived_at >= %s) LIMIT 1
        """,
        (letter.queue, letter.text, letter_id, since, since),
    )
    return earlier.fetchone() is None
