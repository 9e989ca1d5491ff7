"""Notices of jobs that ended: who is told, with how many tries, signed with what."""

from __future__ import annotations

from uuid import UUID

from adapters.postgres import rows
from adapters.postgres.connections import Cursor
from adapters.postgres.moves import send
from wsi.ledger_rules import NOTICE_WAKE_SECONDS, SECRET_GRACE_SECONDS, job_message, notices_of
from wsi.records.deliveries import Channel, Delivery, NoticeBrief
from wsi.webhooks import new_secret


def claim(cursor: Cursor, job_id: UUID, *, seconds: float) -> NoticeBrief | None:
    row = cursor.execute("SELECT * FROM jobs WHERE id = %s", (job_id,)).fetchone()
    if row is None:
        return None
    job = rows.job(row)
    for channel, target in notices_of(job):
        cursor.execute(
            """
            INSERT INTO deliveries (tenant, job_id, job_version, channel, target) VALUES (%s, %s, %s, %s, %s)
            ON CONFLICT DO NOTHING
            """,
            (job.tenant, job.id, job.version, channel, target),
        )
    # Of two at once the second waits for the first one's row, and finds it no longer due.
    due = cursor.execute(
        """
        UPDATE deliveries SET attempt = attempt + 1, due_at = now() + make_interval(secs => %s)
        WHERE job_id = %s AND due_at <= now() RETURNING *
        """,
        (seconds, job_id),
    ).fetchall()
    claimed = tuple(sorted(map(rows.delivery, due), key=lambda delivery: delivery.id))
    signs = any(delivery.channel is Channel.WEBHOOK for delivery in claimed)
    return NoticeBrief(job=job, deliveries=claimed, secrets=_secrets(cursor, job.tenant) if signs else ())


def record(
    cursor: Cursor,
    delivery: Delivery,
    *,
    delivered: bool,
    status: int | None,
    error: str | None,
    retry_seconds: float | None,
) -> None:
    cursor.execute(
        """
        UPDATE deliveries SET status = %(status)s, error = %(error)s, woken_at = NULL,
            delivered_at = CASE WHEN %(delivered)s THEN now() END,
            due_at = CASE WHEN NOT %(delivered)s THEN now() + make_interval(secs => %(retry)s) END
        WHERE id = %(id)s AND attempt = %(attempt)s AND due_at IS NOT NULL
        """,
        {
            "status": status,
            "error": error,
            "delivered": delivered,
            "retry": retry_seconds,  # NULL makes the whole sum NULL: given up
            "id": delivery.id,
            "attempt": delivery.attempt,
        },
    )


def wake(cursor: Cursor) -> int:
    """A message for each job with a notice that is due, at most one in five minutes."""
    due = cursor.execute(
        """
        WITH due AS (
            UPDATE deliveries SET woken_at = now()
            WHERE due_at <= now() AND (woken_at IS NULL OR woken_at < now() - make_interval(secs => %s))
            RETURNING job_id
        )
        SELECT * FROM jobs WHERE id IN (SELECT job_id FROM due)
        """,
        (NOTICE_WAKE_SECONDS,),
    ).fetchall()
    for job in map(rows.job, due):
        send(cursor, job, "notify", job_message(job.id))
    return len(due)


def of_job(cursor: Cursor, job_id: UUID) -> tuple[Delivery, ...]:
    found = cursor.execute("SELECT * FROM deliveries WHERE job_id = %s ORDER BY id", (job_id,))
    return tuple(map(rows.delivery, found))


def secret(cursor: Cursor, tenant: UUID, *, rotate: bool) -> str:
    newest, *_ = _secrets(cursor, tenant)
    if rotate:
        newest = new_secret()
        cursor.execute(
            "UPDATE webhook_secrets SET previous = secret, secret = %s, rotated_at = now() WHERE tenant = %s",
            (newest, tenant),
        )
    return newest


def _secrets(cursor: Cursor, tenant: UUID) -> tuple[str, ...]:
    """Newest first. Made here when there is none."""
    cursor.execute(
        "INSERT INTO webhook_secrets (tenant, secret) VALUES (%s, %s) ON CONFLICT DO NOTHING", (tenant, new_secret())
    )
    row = cursor.execute(
        """
        SELECT secret, CASE WHEN rotated_at > now() - make_interval(secs => %s) THEN previous END AS previous
        FROM webhook_secrets WHERE tenant = %s
        """,
        (SECRET_GRACE_SECONDS, tenant),
    ).fetchone()
    assert row is not None, "it was just made"
    return (row["secret"], row["previous"]) if row["previous"] else (row["secret"],)
