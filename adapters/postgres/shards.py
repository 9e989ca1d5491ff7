"""Shards: lease, heartbeat, checkpoint, commit, release. The attempt number fences every write (F-3)."""

from __future__ import annotations

from uuid import UUID

from adapters.postgres import rows
from adapters.postgres.connections import Cursor, Row, Transactions
from adapters.postgres.moves import add_progress, append_event, cancel_shards, lock_job, move_job, wake_shards
from adapters.postgres.spending import usage
from wsi.errors import FailReason
from wsi.ledger_rules import (
    LEASE_EXPIRED,
    POISON_FAILURES,
    POISON_SILENCES,
    RATE_SECONDS,
    TAKE_OVER_DAYS,
    check_count,
    describe_poison,
    describe_silence,
    make_shard_detail,
)
from wsi.records.jobs import Job
from wsi.records.shards import Lease, LeaseRefusal, ShardCount, ShardOutput
from wsi.states import JobState, ShardState

_CHUNK = 1_000  #: shards a statement: below the 16 KB at which the proxy pins a session


class PostgresShards(Transactions):
    """The workers' operations on shards."""

    def lease_shard(self, job_id: UUID, index: int, *, owner: str, seconds: float) -> Lease | LeaseRefusal:
        with self._transaction() as cursor:
            job = lock_job(cursor, job_id)
            if job is None or job.state is not JobState.RUNNING:
                return LeaseRefusal.SETTLED
            expire(cursor, job, index)
            row = cursor.execute(
                """
                UPDATE shards SET state = 'RUNNING', attempt = attempt + 1, lease_owner = %(owner)s, leased_at = now(),
                    tiles_per_second = NULL, reported_at = NULL, waits_in = NULL,
                    lease_until = now() + make_interval(secs => %(seconds)s)
                WHERE job_id = %(job)s AND index = %(index)s AND state = 'QUEUED'
                RETURNING *
                """,
                {"owner": owner, "seconds": seconds, "job": job_id, "index": index},
            ).fetchone()
            if row is None:
                return _refusal(cursor, job_id, index)
            append_event(cursor, job, "shard_leased", make_shard_detail(index, row["attempt"], owner))
            if job.first_lease_at is None:
                cursor.execute("UPDATE jobs SET first_lease_at = now(), updated_at = now() WHERE id = %s", (job_id,))
            return Lease(
                job=job,
                index=index,
                attempt=row["attempt"],
                tiles=row["tiles"],
                checkpoint_key=row["checkpoint_key"],
            )

    def extend_lease(self, lease: Lease, *, seconds: float) -> bool:
        with self._transaction() as cursor:
            row = cursor.execute(
                """
                UPDATE shards SET lease_until = now() + make_interval(secs => %(seconds)s)
                WHERE job_id = %(job)s AND index = %(index)s AND attempt = %(attempt)s AND state = 'RUNNING'
                    AND EXISTS (SELECT FROM jobs WHERE id = %(job)s AND state = 'RUNNING')
                RETURNING index
                """,
                {"seconds": seconds, "job": lease.job.id, "index": lease.index, "attempt": lease.attempt},
            ).fetchone()
            return row is not None

    def record_checkpoint(
        self, lease: Lease, *, key: str, done: int, unreadable: int, tiles_per_second: float | None
    ) -> bool:
        with self._transaction() as cursor:
            job = lock_job(cursor, lease.job.id)
            shard = _lock_leased_shard(cursor, lease)
            if job is None or shard is None:
                return False
            # An attempt that began again may be behind the last one: its checkpoint would lose work.
            if done >= shard["tiles_done"]:
                cursor.execute(
                    """
                    UPDATE shards SET checkpoint_key = %s, tiles_done = %s, tiles_unreadable = %s, silences = 0,
                        tiles_per_second = coalesce(%s, tiles_per_second), reported_at = now()
                    WHERE job_id = %s AND index = %s
                    """,
                    (key, done, unreadable, tiles_per_second, job.id, lease.index),
                )
                _report(cursor, job, shard, done=done, unreadable=unreadable, finished=0)
            return True

    def commit_shard(self, lease: Lease, *, result_key: str, count: ShardCount, tiles_per_second: float | None) -> bool:
        with self._transaction() as cursor:
            check_count(count, lease.tiles)
            job = lock_job(cursor, lease.job.id)
            shard = _lock_leased_shard(cursor, lease)
            if job is None or shard is None:
                return False
            cursor.execute(
                """
                UPDATE shards SET state = 'DONE', result_key = %s, tiles_done = tiles, tiles_unreadable = %s,
                    tiles_per_second = coalesce(%s, tiles_per_second), reported_at = now(), lease_until = NULL
                WHERE job_id = %s AND index = %s
                """,
                (result_key, count.unreadable, tiles_per_second, job.id, lease.index),
            )
            usage.add_usage(cursor, job, tiles=shard["tiles"], since=shard["leased_at"])
            job = _report(cursor, job, shard, done=shard["tiles"], unreadable=count.unreadable, finished=1)
            detail = make_shard_detail(
                lease.index, lease.attempt, shard["lease_owner"], tiles=lease.tiles, unreadable=count.unreadable
            )
            append_event(cursor, job, "shard_committed", detail)
            if job.shards_remaining == 0:
                move_job(cursor, job.id, JobState.STITCHING)
            return True

    def release_shard(self, lease: Lease, *, reason: str, failed: bool) -> bool:
        with self._transaction() as cursor:
            job = lock_job(cursor, lease.job.id)
            shard = _lock_leased_shard(cursor, lease)
            if job is None or shard is None:
                return False
            failures = shard["failures"] + failed
            poisoned = failures >= POISON_FAILURES
            cursor.execute(
                """
                UPDATE shards SET state = %s, failures = %s, reason = %s, lease_until = NULL
                WHERE job_id = %s AND index = %s
                """,
                (ShardState.FAILED if poisoned else ShardState.QUEUED, failures, reason, job.id, lease.index),
            )
            kind = "shard_failed" if failed else "shard_released"
            detail = make_shard_detail(
                lease.index, lease.attempt, shard["lease_owner"], reason=reason, failures=failures
            )
            append_event(cursor, job, kind, detail)
            if poisoned:
                fail_job(cursor, job.id, FailReason.POISON_SHARD, describe_poison(lease.index))
            else:
                wake_shards(cursor, job, [lease.index])
            return True


def insert(cursor: Cursor, job: Job, sizes: list[int]) -> None:
    for start in range(0, len(sizes), _CHUNK):
        cursor.execute(
            """
            INSERT INTO shards (job_id, tenant, state, waits_in, index, tiles)
            SELECT %s, %s, 'QUEUED', %s, %s + n - 1, tiles FROM unnest(%s::int[]) WITH ORDINALITY AS size (tiles, n)
            """,
            (job.id, job.tenant, job.priority.value, start, sizes[start : start + _CHUNK]),
        )


def take_over(cursor: Cursor, job: Job, plan_digest: str) -> Row:
    """Copy what the retried job finished, if plan and shard sizes are equal and its objects still exist. Return the
    number of shards, and the numbers of their tiles that are inferred and unreadable."""
    row = cursor.execute(
        """
        WITH earlier AS (
            SELECT * FROM shards WHERE job_id = (
                SELECT id FROM jobs WHERE id = %(retried)s AND tenant = %(tenant)s AND plan_digest = %(plan)s
            )
        ), mine AS (
            SELECT * FROM shards WHERE job_id = %(job)s
        ), differing AS (
            SELECT 1 FROM mine FULL JOIN earlier USING (index) WHERE mine.tiles IS DISTINCT FROM earlier.tiles
        ), taken AS (
            UPDATE shards SET state = 'DONE', result_key = earlier.result_key, tiles_done = earlier.tiles_done,
                tiles_unreadable = earlier.tiles_unreadable, leased_at = earlier.leased_at, waits_in = NULL
            FROM earlier
            WHERE shards.job_id = %(job)s AND shards.index = earlier.index AND earlier.state = 'DONE'
                AND earlier.leased_at > now() - make_interval(days => %(days)s)
                AND NOT EXISTS (SELECT FROM differing)
            RETURNING shards.*
        )
        SELECT count(*) AS shards, coalesce(sum(tiles_unreadable), 0)::bigint AS unreadable,
            coalesce(sum(tiles_done - tiles_unreadable), 0)::bigint AS inferred
        FROM taken
        """,
        {"job": job.id, "tenant": job.tenant, "retried": job.retry_of, "plan": plan_digest, "days": TAKE_OVER_DAYS},
    ).fetchone()
    assert row is not None, "an aggregate has a row"
    return row


def expire(cursor: Cursor, job: Job, index: int | None = None) -> list[int]:
    """Move shards of the locked job (or only `index`) whose worker fell silent from RUNNING to QUEUED, and return them.
    A shard that silenced too many workers in a row becomes FAILED, and the job with it: then none is returned."""
    silent = cursor.execute(
        """
        UPDATE shards SET state = CASE WHEN silences + 1 >= %(poison)s THEN 'FAILED' ELSE 'QUEUED' END,
            silences = silences + 1, lease_until = NULL, reason = %(reason)s
        WHERE job_id = %(job)s AND state = 'RUNNING' AND lease_until < now()
            AND (%(index)s::int IS NULL OR index = %(index)s)
        RETURNING index, attempt, lease_owner, state
        """,
        {"poison": POISON_SILENCES, "reason": LEASE_EXPIRED, "job": job.id, "index": index},
    ).fetchall()
    poison: list[int] = []
    for shard in silent:
        poisoned = shard["state"] == ShardState.FAILED
        detail = make_shard_detail(shard["index"], shard["attempt"], shard["lease_owner"], reason=LEASE_EXPIRED)
        append_event(cursor, job, "shard_failed" if poisoned else "shard_released", detail)
        if poisoned:
            poison.append(shard["index"])
    if poison:
        fail_job(cursor, job.id, FailReason.POISON_SHARD, describe_silence(poison[0]))
        return []
    return [shard["index"] for shard in silent]


def _refusal(cursor: Cursor, job_id: UUID, index: int) -> LeaseRefusal:
    row = cursor.execute("SELECT state FROM shards WHERE job_id = %s AND index = %s", (job_id, index)).fetchone()
    return LeaseRefusal.HELD if row and row["state"] == ShardState.RUNNING else LeaseRefusal.SETTLED


def fail_job(cursor: Cursor, job_id: UUID, reason: FailReason, sentence: str) -> bool:
    detail = {"reason": reason.value}
    job = move_job(cursor, job_id, JobState.FAILED, detail=detail, reason=reason.value, sentence=sentence)
    if job is None:
        return False
    cancel_shards(cursor, job_id)
    return True


def list_finished(cursor: Cursor, job_id: UUID) -> tuple[ShardOutput, ...]:
    found = cursor.execute("SELECT * FROM shards WHERE job_id = %s AND state = 'DONE' ORDER BY index", (job_id,))
    return tuple(rows.read_shard_output(row) for row in found)


def _lock_leased_shard(cursor: Cursor, held: Lease) -> Row | None:
    """Return the shard, locked, while the lease is the newest and the job is RUNNING; else None."""
    return cursor.execute(
        """
        SELECT shards.* FROM shards JOIN jobs ON jobs.id = shards.job_id
        WHERE shards.job_id = %s AND index = %s AND attempt = %s AND shards.state = 'RUNNING' AND jobs.state = 'RUNNING'
        FOR UPDATE OF shards
        """,
        (held.job.id, held.index, held.attempt),
    ).fetchone()


def _report(cursor: Cursor, job: Job, before: Row, *, done: int, unreadable: int, finished: int) -> Job:
    """Add to the job what the shard has gained since `before`."""
    gained_unreadable = unreadable - before["tiles_unreadable"]
    return add_progress(
        cursor,
        job.id,
        inferred=done - before["tiles_done"] - gained_unreadable,
        unreadable=gained_unreadable,
        finished=finished,
        rate=_rate(cursor, job.id),
        finished_since=before["leased_at"] if finished else None,
    )


def _rate(cursor: Cursor, job_id: UUID) -> float | None:
    """Return the tiles a second of the whole job: the sum of each worker's last report, while it is fresh."""
    row = cursor.execute(
        """
        SELECT sum(tiles_per_second) AS rate FROM (
            SELECT DISTINCT ON (lease_owner) tiles_per_second FROM shards
            WHERE job_id = %s AND tiles_per_second IS NOT NULL AND reported_at > now() - make_interval(secs => %s)
            ORDER BY lease_owner, reported_at DESC
        ) AS newest
        """,
        (job_id, RATE_SECONDS),
    ).fetchone()
    return row["rate"] if row else None
