"""The outbox: rows leave after the commit that made them, at least once, in no guaranteed order (F-29). Before it, the
lines of the tenants: shards whose rows are made once they are admitted."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg.types.json import Jsonb

from adapters.postgres import rows
from adapters.postgres.connections import Cursor, Transactions
from wsi.ledger_rules import PUSH_DAYS, SENT_DAYS
from wsi.records.notices import MESSAGE_SCHEMA, PUSH, SHARD_QUEUES, OutboxRow

#: Two relays that admit at once would both count what is in flight before either has admitted anything. The proxy does
#: not pin a session for a lock that ends with its transaction.
_ADMITTING = 7_201_600_016
_TAKE_TURN = "SELECT pg_advisory_xact_lock(%s)"
#: `line`: the tenants that wait, by one step in the index for each, however long their lines are. `begun` counts what
#: is in flight. Of the shards at the heads of the lines, each `place` is the number that its tenant would then have in
#: flight; the lowest places go first, and of equal ones that of the tenant that was admitted longest ago. Rows are
#: locked one by one and updated by their addresses: a planner that does not know how few they are would read them all.
_ADMIT = """
    WITH RECURSIVE line AS (
        (
            SELECT waits_in, tenant FROM shards WHERE waits_in IS NOT NULL AND state = 'QUEUED'
            ORDER BY waits_in, tenant LIMIT 1
        )
        UNION ALL
        SELECT following.* FROM line CROSS JOIN LATERAL (
            SELECT waits_in, tenant FROM shards
            WHERE waits_in IS NOT NULL AND state = 'QUEUED' AND (waits_in, tenant) > (line.waits_in, line.tenant)
            ORDER BY waits_in, tenant LIMIT 1
        ) AS following
    ), begun AS (
        SELECT jobs.priority, shards.tenant, count(*) AS shards, max(shards.woken_at) AS admitted_at
        FROM shards JOIN jobs ON jobs.id = shards.job_id
        WHERE shards.waits_in IS NULL AND shards.state IN ('QUEUED', 'RUNNING')
        GROUP BY jobs.priority, shards.tenant
    ), taken AS (
        SELECT priority, sum(shards)::bigint AS shards FROM begun GROUP BY priority
    ), room AS (
        SELECT line.*, coalesce(begun.shards, 0) AS shards, begun.admitted_at,
            greatest(0, %(in_flight)s - coalesce(taken.shards, 0)) AS free
        FROM line LEFT JOIN taken ON taken.priority = line.waits_in
            LEFT JOIN begun ON begun.priority = line.waits_in AND begun.tenant = line.tenant
    ), head AS (
        SELECT room.*, first.*, room.shards + row_number() OVER (
            PARTITION BY room.waits_in, room.tenant ORDER BY first.woken_at, first.job_id, first.index
        ) AS place
        FROM room CROSS JOIN LATERAL (
            SELECT job_id, index, woken_at FROM shards
            WHERE waits_in = room.waits_in AND tenant = room.tenant AND state = 'QUEUED'
            ORDER BY woken_at, job_id, index LIMIT greatest(room.free, (room.shards = 0)::int)
        ) AS first
    ), ordered AS (
        SELECT *, row_number() OVER (
            PARTITION BY waits_in ORDER BY place, admitted_at NULLS FIRST, woken_at, job_id, index
        ) AS turn
        FROM head
    ), chosen AS (
        SELECT locked.row, ordered.job_id, ordered.index, ordered.waits_in, ordered.turn
        FROM ordered CROSS JOIN LATERAL (
            SELECT ctid AS row FROM shards
            WHERE job_id = ordered.job_id AND index = ordered.index AND waits_in IS NOT NULL AND state = 'QUEUED'
            LIMIT 1 FOR UPDATE SKIP LOCKED
        ) AS locked
        WHERE ordered.turn <= ordered.free OR ordered.place = 1
    ), admitted AS (
        UPDATE shards SET waits_in = NULL, woken_at = now() WHERE ctid = ANY(ARRAY(SELECT row FROM chosen))
    )
    INSERT INTO outbox (tenant, topic, body, traceparent)
    SELECT jobs.tenant, %(topics)s::jsonb ->> chosen.waits_in,
        jsonb_build_object('v', %(schema)s::int, 'job_id', jobs.id, 'shard', chosen.index), jobs.traceparent
    FROM chosen JOIN jobs ON jobs.id = chosen.job_id ORDER BY chosen.turn, chosen.waits_in
"""


class PostgresOutbox(Transactions):
    """The relay's operations on the outbox and on what waits before it."""

    def admit_shards(self, *, in_flight: int) -> int:
        with self._transaction() as cursor:
            cursor.execute(_TAKE_TURN, (_ADMITTING,))
            topics = Jsonb({priority.value: queue for priority, queue in SHARD_QUEUES.items()})
            return cursor.execute(_ADMIT, {"in_flight": in_flight, "topics": topics, "schema": MESSAGE_SCHEMA}).rowcount

    def claim_outbox(self, *, limit: int, seconds: float) -> tuple[OutboxRow, ...]:
        with self._transaction() as cursor:
            found = cursor.execute(
                """
                WITH free AS (
                    SELECT id FROM outbox
                    WHERE sent_at IS NULL AND (claimed_until IS NULL OR claimed_until < now())
                    ORDER BY (topic = 'push'), id LIMIT %s FOR UPDATE SKIP LOCKED
                )
                UPDATE outbox SET claimed_until = now() + make_interval(secs => %s) FROM free WHERE outbox.id = free.id
                RETURNING outbox.*
                """,
                (limit, seconds),
            )
            return tuple(sorted(map(rows.read_outbox_row, found), key=lambda row: (row.topic == PUSH, row.id)))

    def mark_sent(self, ids: Sequence[int]) -> None:
        with self._transaction() as cursor:
            cursor.execute("UPDATE outbox SET sent_at = now() WHERE id = ANY(%s) AND sent_at IS NULL", (list(ids),))

    def release_outbox(self, ids: Sequence[int]) -> None:
        with self._transaction() as cursor:
            cursor.execute("UPDATE outbox SET claimed_until = NULL WHERE id = ANY(%s)", (list(ids),))


def forget(cursor: Cursor) -> None:
    """Delete rows that were sent long ago, and unsent updates that no subscriber waits for any more."""
    cursor.execute(
        """
        DELETE FROM outbox WHERE sent_at < now() - make_interval(days => %s)
            OR sent_at IS NULL AND topic = %s AND created_at < now() - make_interval(days => %s)
        """,
        (SENT_DAYS, PUSH, PUSH_DAYS),
    )
