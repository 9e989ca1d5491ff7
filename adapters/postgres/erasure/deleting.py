"""The deletion of slides and jobs: rows stay with ids and counts, and lose in the transaction of the deletion what was
said of them by people or files. Objects follow; the sweep sees to it that they do (`PostgresErasures`)."""

from __future__ import annotations

from uuid import UUID

from adapters.postgres import rows, slides
from adapters.postgres.audit import note
from adapters.postgres.connections import Cursor, Transactions
from adapters.postgres.moves import lock_job
from wsi.ledger_rules import (
    ERASED_SENTENCE,
    check_ended,
    check_holdable,
    check_unheld,
    make_anonymous_name,
    make_continued_job_error,
    make_unknown_job_error,
)
from wsi.records.identity import Actor
from wsi.records.jobs import Job
from wsi.records.slides import Slide
from wsi.states import SlideState

#: The jobs that retry this one, and those that retry them: they may read what it finished.
IS_CONTINUED = """
    WITH RECURSIVE later AS (
        SELECT id, finished_at FROM jobs WHERE retry_of = %s
        UNION ALL
        SELECT jobs.id, jobs.finished_at FROM later JOIN jobs ON jobs.retry_of = later.id
    )
    SELECT FROM later WHERE finished_at IS NULL LIMIT 1
"""


class PostgresTenantErasure(Transactions):
    """The API's deletions and legal holds."""

    def delete_slide(self, actor: Actor, slide_id: UUID) -> Slide:
        with self._transaction(actor.tenant) as cursor:
            slide = slides.lock(cursor, slide_id)
            if slide.state is SlideState.DELETED:
                return slide
            check_unheld(slide)
            slides.check_unused(cursor, slide_id)
            return delete_slide(cursor, actor, slide)

    def list_deleted_jobs(self, actor: Actor, slide_id: UUID, *, limit: int) -> tuple[UUID, ...]:
        with self._transaction(actor.tenant) as cursor:
            found = cursor.execute(
                """
                SELECT id FROM jobs WHERE slide_id = %s AND deleted_at IS NOT NULL AND erased_at IS NULL
                ORDER BY id LIMIT %s
                """,
                (slide_id, limit),
            )
            return tuple(row["id"] for row in found)

    def delete_job(self, actor: Actor, job_id: UUID) -> None:
        with self._transaction(actor.tenant) as cursor:
            slide_id = _find_slide(cursor, job_id)
            slide = slides.lock_shared(cursor, slide_id)  # the slide before its jobs, as a deletion of the slide does
            job = lock_job(cursor, job_id)
            assert job is not None, "jobs are never removed"
            if job.deleted_at is not None:
                return
            check_unheld(slide)
            check_ended(job)
            if cursor.execute(IS_CONTINUED, (job_id,)).fetchone() is not None:
                raise make_continued_job_error()
            delete_jobs(cursor, [job_id])
            note(cursor, actor, "job.delete", job_id)

    def set_legal_hold(self, actor: Actor, slide_id: UUID, *, held: bool) -> Slide:
        with self._transaction(actor.tenant) as cursor:
            slide = slides.lock(cursor, slide_id)
            if held:
                check_holdable(slide)
            if slide.legal_hold is held:
                return slide
            # Not a move: an inspection that runs keeps its version.
            cursor.execute("UPDATE slides SET legal_hold = %s WHERE id = %s", (held, slide_id))
            note(cursor, actor, "slide.hold" if held else "slide.end_hold", slide_id)
            return slides.get(cursor, slide_id)


class PostgresErasures(Transactions):
    """The sweep's operations on what was deleted."""

    def claim_deleted_slides(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        with self._transaction() as cursor:
            claimed = cursor.execute(
                """
                UPDATE slides SET woken_at = now() WHERE id IN (
                    SELECT id FROM slides
                    WHERE state = 'DELETED' AND erased_at IS NULL AND woken_at < now() - make_interval(secs => %s)
                    ORDER BY woken_at, id LIMIT %s FOR UPDATE SKIP LOCKED
                )
                RETURNING id
                """,
                (seconds, limit),
            ).fetchall()
            found = [slides.get(cursor, row["id"]) for row in claimed]
            for slide in found:  # the release before deletes nothing in SQL, and no jobs
                _forget_slide(cursor, slide.id)
            return tuple(found)

    def claim_deleted_jobs(self, *, seconds: float, limit: int) -> tuple[Job, ...]:
        with self._transaction() as cursor:
            claimed = cursor.execute(
                """
                UPDATE jobs SET woken_at = now() WHERE id IN (
                    SELECT id FROM jobs
                    WHERE deleted_at IS NOT NULL AND erased_at IS NULL
                        AND woken_at < now() - make_interval(secs => %s)
                    ORDER BY woken_at, id LIMIT %s FOR UPDATE SKIP LOCKED
                )
                RETURNING *
                """,
                (seconds, limit),
            ).fetchall()
            return tuple(map(rows.read_job, claimed))

    def record_slide_erasure(self, slide_id: UUID, *, late_seconds: float) -> bool:
        with self._transaction() as cursor:
            return _record(cursor, _SLIDE_ERASED, slide_id, late_seconds)

    def record_job_erasure(self, job_id: UUID, *, late_seconds: float) -> bool:
        with self._transaction() as cursor:
            return _record(cursor, _JOB_ERASED, job_id, late_seconds)


_SLIDE_ERASED = """
    UPDATE slides SET
        erased_at = CASE WHEN updated_at <= now() - make_interval(secs => %(late)s) THEN now() END,
        woken_at = greatest(now(), updated_at + make_interval(secs => %(late)s))
    WHERE id = %(id)s AND state = 'DELETED' AND erased_at IS NULL RETURNING erased_at
"""
_JOB_ERASED = """
    UPDATE jobs SET
        erased_at = CASE WHEN deleted_at <= now() - make_interval(secs => %(late)s) THEN now() END,
        woken_at = greatest(now(), deleted_at + make_interval(secs => %(late)s))
    WHERE id = %(id)s AND deleted_at IS NOT NULL AND erased_at IS NULL RETURNING erased_at
"""


def delete_slide(cursor: Cursor, actor: Actor, slide: Slide) -> Slide:
    """Move a locked slide without live jobs to DELETED, and its jobs with it; return what stays of it."""
    moved = slides.move(cursor, slide.id, SlideState.DELETED)
    assert moved, "the slide is locked and was not deleted"
    removed = _forget_slide(cursor, slide.id)
    counts = {"files": len(slide.files), "bytes": sum(file.size for file in slide.files), "jobs": removed}
    note(cursor, actor, "slide.delete", slide.id, counts)
    return slides.get(cursor, slide.id)


def abandon_slide(cursor: Cursor, slide_id: UUID) -> bool:
    """Move a slide that nobody finished to upload to DELETED; return False if somebody did. It has no jobs."""
    moved = slides.move(cursor, slide_id, SlideState.DELETED, source=SlideState.UPLOADING)
    if moved:
        _forget_slide(cursor, slide_id)
    return moved


def delete_jobs(cursor: Cursor, ids: list[UUID]) -> None:
    """Delete jobs that have ended: their ids, counts and times stay, and the history of their moves."""
    cursor.execute(
        """
        UPDATE jobs SET deleted_at = now(), woken_at = now(), version = version + 1, label = NULL, notify_email = NULL,
            notify_webhook = NULL, options = '{}', identity = '', plan_key = NULL, plan_digest = NULL,
            sentence = CASE WHEN sentence IS NOT NULL THEN %s END
        WHERE id = ANY(%s)
        """,
        (ERASED_SENTENCE, ids),
    )
    for table in ("results", "deliveries", "idempotency_keys", "job_followers"):
        cursor.execute(f"DELETE FROM {table} WHERE job_id = ANY(%s)", (ids,))  # pyright: ignore[reportArgumentType]
    cursor.execute("UPDATE shards SET reason = NULL WHERE job_id = ANY(%s) AND reason IS NOT NULL", (ids,))


def _forget_slide(cursor: Cursor, slide_id: UUID) -> int:
    """Remove from a DELETED slide and its jobs what people or files said; return the number of its jobs. Of its files,
    sizes stay, and the address of an upload that is still to be aborted, which is ours and says nothing."""
    cursor.execute(
        """
        UPDATE slides SET name = %s, digest = NULL, mpp = NULL, choice = NULL, reason = NULL, sentence = NULL,
            inspection = NULL, thumbnail_key = NULL, restore_tier = NULL, restored_until = NULL
        WHERE id = %s
        """,
        (make_anonymous_name(slide_id), slide_id),
    )
    cursor.execute(
        """
        UPDATE slide_files SET name = to_char(position, 'FM00000'), etag = NULL,
            uri = CASE WHEN upload_id IS NULL THEN '' ELSE uri END
        WHERE slide_id = %s
        """,
        (slide_id,),
    )
    alive = cursor.execute("SELECT id FROM jobs WHERE slide_id = %s AND deleted_at IS NULL", (slide_id,)).fetchall()
    delete_jobs(cursor, [row["id"] for row in alive])
    return len(alive)


def _find_slide(cursor: Cursor, job_id: UUID) -> UUID:
    row = cursor.execute("SELECT slide_id FROM jobs WHERE id = %s", (job_id,)).fetchone()
    if row is None:
        raise make_unknown_job_error()
    return row["slide_id"]


def _record(cursor: Cursor, statement: str, of: UUID, late_seconds: float) -> bool:
    row = cursor.execute(statement, {"id": of, "late": late_seconds}).fetchone()  # pyright: ignore[reportArgumentType]
    return row is not None and row["erased_at"] is not None
