"""Repairs by the sweep, one kind of damage a function; each in a transaction of its own."""

from __future__ import annotations

from adapters.postgres import deliveries, outbox, registrations, rows, shards, slides
from adapters.postgres.connections import Cursor, Transactions
from adapters.postgres.erasure import deleting
from adapters.postgres.moves import lock_job, move_job, wake_shards, wake_stage
from wsi.errors import RejectReason
from wsi.ledger_rules import GIVEN_UP, STUCK_TOPIC, UNINSPECTED_SENTENCE
from wsi.ports.ledger import Swept
from wsi.states import JobState


class PostgresSweep(Transactions):
    """The repairs of the sweep."""

    def sweep(self, *, upload_days: float, stuck_seconds: float, give_up_seconds: float) -> Swept:
        """Repair each kind of damage in a transaction of its own, so that none holds the locks of the others."""
        with self._transaction() as cursor:
            leases_expired = expire_leases(cursor)
        with self._transaction() as cursor:
            stitches_woken = wake_stitches(cursor)
        with self._transaction() as cursor:
            given_up = give_up(cursor, seconds=give_up_seconds)
        with self._transaction() as cursor:
            messages_resent = resend(cursor, stuck_seconds=stuck_seconds)
        with self._transaction() as cursor:
            uploads_abandoned = abandon_uploads(cursor, days=upload_days)
            outbox.forget(cursor)
        with self._transaction() as cursor:
            notices_woken = deliveries.wake(cursor)
        return Swept(
            leases_expired=leases_expired,
            stitches_woken=stitches_woken,
            messages_resent=messages_resent,
            uploads_abandoned=uploads_abandoned,
            given_up=given_up,
            notices_woken=notices_woken,
        )


def expire_leases(cursor: Cursor) -> int:
    """Put RUNNING shards whose worker fell silent back into their queue; return their number."""
    silent = cursor.execute(
        "SELECT DISTINCT job_id FROM shards WHERE state = 'RUNNING' AND lease_until < now() ORDER BY job_id"
    ).fetchall()
    expired = 0
    for row in silent:
        job = lock_job(cursor, row["job_id"])
        assert job is not None, "shards refer to their job"
        freed = shards.expire(cursor, job)
        if freed:
            wake_shards(cursor, job, freed)
        expired += len(freed)
    return expired


def wake_stitches(cursor: Cursor) -> int:
    """Move RUNNING jobs without an unfinished shard to STITCHING: the commit of the last shard did not reach the
    job."""
    complete = cursor.execute(
        """
        SELECT id FROM jobs WHERE state = 'RUNNING' AND NOT EXISTS (
            SELECT FROM shards WHERE job_id = jobs.id AND state <> 'DONE'
        ) ORDER BY id
        """
    ).fetchall()
    return sum(move_job(cursor, row["id"], JobState.STITCHING, shards_remaining=0) is not None for row in complete)


def resend(cursor: Cursor, *, stuck_seconds: float) -> int:
    """Resend the message of what has not moved for `stuck_seconds`, unless it was resent within that time."""
    return (
        _resend_slides(cursor, stuck_seconds)
        + _resend_jobs(cursor, stuck_seconds)
        + _resend_shards(cursor, stuck_seconds)
        + registrations.resend(cursor, stuck_seconds=stuck_seconds)
    )


def _resend_slides(cursor: Cursor, stuck_seconds: float) -> int:
    stuck = cursor.execute(
        """
        UPDATE slides SET woken_at = now() WHERE state = 'UPLOADED' AND woken_at < now() - make_interval(secs => %s)
        RETURNING id
        """,
        (stuck_seconds,),
    ).fetchall()
    for row in stuck:
        slides.send_to_inspection(cursor, slides.get(cursor, row["id"]))
    return len(stuck)


def _resend_jobs(cursor: Cursor, stuck_seconds: float) -> int:
    stuck = cursor.execute(
        """
        UPDATE jobs SET woken_at = now() WHERE state = ANY(%s) AND woken_at < now() - make_interval(secs => %s)
        RETURNING *
        """,
        ([state.value for state in STUCK_TOPIC], stuck_seconds),
    ).fetchall()
    for job in map(rows.read_job, stuck):
        wake_stage(cursor, job, STUCK_TOPIC[job.state])
    return len(stuck)


def _resend_shards(cursor: Cursor, stuck_seconds: float) -> int:
    stuck = cursor.execute(
        """
        SELECT job_id, array_agg(index ORDER BY index) AS indices FROM shards
        WHERE state = 'QUEUED' AND waits_in IS NULL AND woken_at < now() - make_interval(secs => %s)
        GROUP BY job_id ORDER BY job_id
        """,
        (stuck_seconds,),
    ).fetchall()
    for row in stuck:
        if job := lock_job(cursor, row["job_id"]):
            wake_shards(cursor, job, row["indices"])
    return sum(len(row["indices"]) for row in stuck)


def give_up(cursor: Cursor, *, seconds: float) -> int:
    """End jobs, slides and model packages that nothing has moved for `seconds`; return their number."""
    jobs = cursor.execute(
        "SELECT id, state FROM jobs WHERE state = ANY(%s) AND updated_at < now() - make_interval(secs => %s)"
        " ORDER BY id FOR UPDATE",
        ([state.value for state in GIVEN_UP], seconds),
    ).fetchall()
    for row in jobs:
        shards.fail_job(cursor, row["id"], *GIVEN_UP[JobState(row["state"])])
    uninspected = cursor.execute(
        "SELECT id FROM slides WHERE state = 'UPLOADED' AND updated_at < now() - make_interval(secs => %s) ORDER BY id",
        (seconds,),
    ).fetchall()
    for row in uninspected:
        slides.reject(cursor, row["id"], RejectReason.DAMAGED, UNINSPECTED_SENTENCE)
    return len(jobs) + len(uninspected) + registrations.give_up(cursor, seconds=seconds)


def abandon_uploads(cursor: Cursor, *, days: float) -> int:
    old = cursor.execute(
        "SELECT id FROM slides WHERE state = 'UPLOADING' AND created_at < now() - make_interval(secs => %s)",
        (days * 86_400,),
    ).fetchall()
    abandoned = sum(deleting.abandon_slide(cursor, row["id"]) for row in old)
    return abandoned + registrations.abandon(cursor, days=days)
