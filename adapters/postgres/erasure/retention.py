"""Retention: what is older than its tenant keeps it is deleted as a person would delete it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from uuid import UUID

from adapters.postgres import rows, slides
from adapters.postgres.audit import note
from adapters.postgres.connections import Cursor, Row, Transactions
from adapters.postgres.erasure.deleting import IS_CONTINUED, delete_jobs, delete_slide
from wsi.records.identity import Actor, Role
from wsi.records.jobs import Job
from wsi.records.quotas import Expired, Retention
from wsi.records.slides import Slide
from wsi.states import SlideState

SWEEP = "system:retention"  #: the actor in the audit log
#: Columns are named as the fields are.
NAMES = tuple(field.name for field in fields(Retention))

_OF_OLD_SLIDES = """
    FROM retention JOIN slides USING (tenant)
    WHERE slides.created_at < now() - make_interval(days => slide_days)
        AND state NOT IN ('UPLOADING', 'DELETED') AND NOT legal_hold
        AND NOT EXISTS (SELECT FROM jobs WHERE slide_id = slides.id AND finished_at IS NULL)
"""
_OLD_SLIDES = f"""
    SELECT slides.id {_OF_OLD_SLIDES} AND (%(among)s::uuid[] IS NULL OR slides.id = ANY(%(among)s))
    ORDER BY slides.created_at, slides.id LIMIT %(limit)s FOR UPDATE OF slides SKIP LOCKED
"""
_CLAIM_SLIDES = f"""
    UPDATE slides SET woken_at = now() WHERE id IN (
        SELECT slides.id {_OF_OLD_SLIDES} AND slides.woken_at < now() - make_interval(secs => %(seconds)s)
        ORDER BY slides.woken_at, slides.id LIMIT %(limit)s FOR UPDATE OF slides SKIP LOCKED
    )
    RETURNING id
"""
_OF_OLD_JOBS = """
    FROM retention JOIN jobs USING (tenant) JOIN slides ON slides.id = jobs.slide_id
    WHERE jobs.finished_at < now() - make_interval(days => result_days) AND jobs.deleted_at IS NULL AND NOT legal_hold
"""
_OLD_JOBS = f"""
    SELECT jobs.id, jobs.tenant {_OF_OLD_JOBS} AND (%(among)s::uuid[] IS NULL OR jobs.id = ANY(%(among)s))
    ORDER BY jobs.finished_at, jobs.id LIMIT %(limit)s FOR SHARE OF slides SKIP LOCKED FOR UPDATE OF jobs SKIP LOCKED
"""
_CLAIM_JOBS = f"""
    UPDATE jobs SET woken_at = now() WHERE id IN (
        SELECT jobs.id {_OF_OLD_JOBS} AND jobs.woken_at < now() - make_interval(secs => %(seconds)s)
        ORDER BY jobs.woken_at, jobs.id LIMIT %(limit)s FOR UPDATE OF jobs SKIP LOCKED
    )
    RETURNING *
"""
_OLD_KEYS = """
    DELETE FROM idempotency_keys WHERE (tenant, key) IN (
        SELECT tenant, key FROM retention JOIN idempotency_keys USING (tenant)
        WHERE created_at < now() - make_interval(days => key_days) LIMIT %s
    )
"""


class PostgresRetention(Transactions):
    """The sweep's deletions."""

    def claim_expired_slides(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        with self._transaction() as cursor:
            claimed = cursor.execute(_CLAIM_SLIDES, {"seconds": seconds, "limit": limit}).fetchall()
            return tuple(slides.get(cursor, row["id"]) for row in claimed)

    def claim_expired_jobs(self, *, seconds: float, limit: int) -> tuple[Job, ...]:
        with self._transaction() as cursor:
            claimed = cursor.execute(_CLAIM_JOBS, {"seconds": seconds, "limit": limit}).fetchall()
            return tuple(map(rows.read_job, claimed))

    def list_kept_jobs(self, slide_id: UUID) -> tuple[UUID, ...]:
        with self._transaction() as cursor:
            found = cursor.execute("SELECT id FROM jobs WHERE slide_id = %s AND deleted_at IS NULL", (slide_id,))
            return tuple(row["id"] for row in found)

    def delete_expired(self, *, limit: int, among: Collection[UUID] | None = None) -> Expired:
        wanted = {"limit": limit, "among": None if among is None else list(among)}
        with self._transaction() as cursor:
            old_slides = cursor.execute(_OLD_SLIDES, wanted).fetchall()
            deleted = [_delete_slide(cursor, row["id"]) for row in old_slides]
        with self._transaction() as cursor:
            old_jobs = cursor.execute(_OLD_JOBS, wanted).fetchall()
            ended = [row for row in old_jobs if cursor.execute(IS_CONTINUED, (row["id"],)).fetchone() is None]
            _delete_jobs(cursor, ended)
        with self._transaction() as cursor:
            keys = cursor.execute(_OLD_KEYS, (100 * limit,)).rowcount
        return Expired(slides_expired=deleted.count(True), jobs_expired=len(ended), keys_expired=keys)


def _delete_slide(cursor: Cursor, slide_id: UUID) -> bool:
    slide = slides.get(cursor, slide_id)
    # Again under the lock, which a submission waits for: a job may have begun since the query.
    if slide.state is SlideState.DELETED or slide.legal_hold or slides.is_read(cursor, slide_id):
        return False
    delete_slide(cursor, Actor(tenant=slide.tenant, subject=SWEEP, role=Role.ADMIN), slide)
    return True


def _delete_jobs(cursor: Cursor, ended: list[Row]) -> None:
    delete_jobs(cursor, [row["id"] for row in ended])
    for row in ended:
        note(cursor, Actor(tenant=row["tenant"], subject=SWEEP, role=Role.ADMIN), "job.delete", row["id"])
