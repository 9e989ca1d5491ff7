"""Notices of jobs that ended: their receivers, attempts and signing secrets."""

from __future__ import annotations

from uuid import UUID

from adapters.postgres import jobs, rows
from adapters.postgres.audit import note
from adapters.postgres.connections import Cursor, Transactions
from adapters.postgres.moves import send
from wsi.ledger_rules import NOTICE_WAKE_SECONDS, SECRET_GRACE_SECONDS, make_job_message, select_receivers
from wsi.notices.webhooks import make_secret
from wsi.records.deliveries import Delivery, NoticeBrief, NoticeChannel
from wsi.records.identity import Actor
from wsi.records.jobs import Job


class PostgresTenantNotices(Transactions):
    """The API's view of notices, and the secret that signs webhooks."""

    def list_deliveries(self, actor: Actor, job_id: UUID) -> tuple[Delivery, ...]:
        with self._transaction(actor.tenant) as cursor:
            jobs.get(cursor, job_id)
            found = cursor.execute("SELECT * FROM deliveries WHERE job_id = %s ORDER BY id", (job_id,))
            return tuple(map(rows.read_delivery, found))

    def get_webhook_secret(self, actor: Actor, *, rotate: bool = False) -> str:
        with self._transaction(actor.tenant) as cursor:
            if rotate:
                note(cursor, actor, "webhook_secret.rotate", actor.tenant)
            newest, *_ = _secrets(cursor, actor.tenant)
            if rotate:
                newest = make_secret()
                cursor.execute(
                    "UPDATE webhook_secrets SET previous = secret, secret = %s, rotated_at = now() WHERE tenant = %s",
                    (newest, actor.tenant),
                )
            return newest


class PostgresDeliveries(Transactions):
    """The attempts of the function `notify`."""

    def claim_deliveries(self, job_id: UUID, *, seconds: float) -> NoticeBrief | None:
        with self._transaction() as cursor:
            row = cursor.execute("SELECT * FROM jobs WHERE id = %s", (job_id,)).fetchone()
            if row is None:
                return None
            job = rows.read_job(row)
            for channel, target in (*select_receivers(job), *_list_followers(cursor, job)):
                cursor.execute(
                    """
                    INSERT INTO deliveries (tenant, job_id, job_version, channel, target) VALUES (%s, %s, %s, %s, %s)
                    ON CONFLICT DO NOTHING
                    """,
                    (job.tenant, job.id, job.version, channel, target),
                )
            # Of two parallel calls, the second waits for the first one's row and finds it no longer due.
            due = cursor.execute(
                """
                UPDATE deliveries SET attempt = attempt + 1, due_at = now() + make_interval(secs => %s)
                WHERE job_id = %s AND due_at <= now() RETURNING *
                """,
                (seconds, job_id),
            ).fetchall()
            claimed = tuple(sorted(map(rows.read_delivery, due), key=lambda delivery: delivery.id))
            signs = any(delivery.channel is NoticeChannel.WEBHOOK for delivery in claimed)
            return NoticeBrief(job=job, deliveries=claimed, secrets=_secrets(cursor, job.tenant) if signs else ())

    def record_delivery(
        self,
        delivery: Delivery,
        *,
        delivered: bool,
        status: int | None,
        error: str | None,
        retry_seconds: float | None,
    ) -> None:
        with self._transaction() as cursor:
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


def _list_followers(cursor: Cursor, job: Job) -> tuple[tuple[NoticeChannel, str], ...]:
    """Return who asked for the job while it was under way, as (channel, target), once it has ended. They are told of a
    cancelled one by e-mail too: somebody else cancelled it."""
    if not job.state.is_final:
        return ()
    found = cursor.execute("SELECT channel, target FROM job_followers WHERE job_id = %s ORDER BY created_at", (job.id,))
    return tuple((NoticeChannel(row["channel"]), row["target"]) for row in found)


def wake(cursor: Cursor) -> int:
    """Send a message for each job with a notice that is due, at most one in five minutes; return the number of jobs."""
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
    for job in map(rows.read_job, due):
        send(cursor, job, ("notify", make_job_message(job.id)))
    return len(due)


def _secrets(cursor: Cursor, tenant: UUID) -> tuple[str, ...]:
    """Return the tenant's secrets, newest first. Make one if there is none."""
    cursor.execute(
        "INSERT INTO webhook_secrets (tenant, secret) VALUES (%s, %s) ON CONFLICT DO NOTHING", (tenant, make_secret())
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
