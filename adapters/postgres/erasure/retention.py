"""Retention: what is older than its tenant keeps it is deleted as a person would delete it."""

from __future__ import annotations

from dataclasses import fields
from uuid import UUID

from adapters.postgres import slides
from adapters.postgres.audit import note
from adapters.postgres.connections import Cursor, Row, Transactions
from adapters.postgres.erasure.deleting import IS_CONTINUED, delete_jobs, delete_slide
from wsi.records.identity import Actor, Role
from wsi.records.quotas import Expired, Retention
from wsi.states import SlideState

SWEEP = "system:retention"  #: the actor in the audit log
#: Columns are named as the fields are.
NAMES = tuple(field.name for field in fields(Retention))

_OLD_SLIDES = """
    SELECT slides.id FROM retention JOIN slides USING (tenant)
    WHERE slides.created_at < now() - make_interval(days => slide_days)
        AND state NOT IN ('UPLOADING', 'DELETED') AND NOT legal_hold
        AND NOT EXISTS (SELECT FROM jobs WHERE slide_id = slides.id AND finished_at IS NULL)
    ORDER BY slides.created_at, slides.id LIMIT %s FOR UPDATE OF slides SKIP LOCKED
"""
_OLD_JOBS = """
    SELECT jobs.id, jobs.tenant FROM retention JOIN jobs USING (tenant) JOIN slides ON slides.id = jobs.slide_id
    WHERE jobs.finished_at < now() - make_interval(days => result_days) AND jobs.deleted_at IS NULL AND NOT legal_hold
    ORDER BY jobs.finished_at, jobs.id LIMIT %s FOR SHARE OF slides SKIP LOCKED FOR UPDATE OF jobs SKIP LOCKED
"""
_OLD_KEYS = """
    DELETE FROM idempotency_keys WHERE (tenant, key) IN (
        SELECT tenant, key FROM retention JOIN idempotency_keys USING (tenant)
        WHERE created_at < now() - make_interval(days => key_days) LIMIT %s
    )
"""


class PostgresRetention(Transactions):
    """The sweep's deletions."""

    def delete_expired(self, *, limit: int) -> Expired:
        with self._transaction() as cursor:
            old_slides = cursor.execute(_OLD_SLIDES, (limit,)).fetchall()
            deleted = [_delete_slide(cursor, row["id"]) for row in old_slides]
        with self._transaction() as cursor:
            old_jobs = cursor.execute(_OLD_JOBS, (limit,)).fetchall()
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
