"""Usage: counted in the transaction that commits a shard, read by the API."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime

from psycopg import sql

from adapters.postgres import quotas
from adapters.postgres.connections import Cursor, Row, Transactions
from wsi.records.identity import Actor
from wsi.records.jobs import Job
from wsi.records.operations.usage import BudgetUse, UsageBy, UsageLine

#: The clock may have gone back since: no commit takes time off what was used.
_SECONDS = "greatest(0, extract(epoch FROM now() - %(since)s))"
_COUNT = f"""
    INSERT INTO usage AS u (tenant, day, tiles, worker_seconds)
    VALUES (%(tenant)s, (now() AT TIME ZONE 'UTC')::date, %(tiles)s, {_SECONDS})
    ON CONFLICT (tenant, day) DO UPDATE
    SET tiles = u.tiles + excluded.tiles, worker_seconds = u.worker_seconds + excluded.worker_seconds
"""
_DIVIDE = f"""
    INSERT INTO usage_details AS u (tenant, day, model, model_version, requester, tiles, worker_seconds)
    VALUES (%(tenant)s, (now() AT TIME ZONE 'UTC')::date, %(model)s, %(version)s, %(requester)s, %(tiles)s,
        {_SECONDS})
    ON CONFLICT (tenant, day, model, model_version, requester) DO UPDATE
    SET tiles = u.tiles + excluded.tiles, worker_seconds = u.worker_seconds + excluded.worker_seconds
"""
_BY = {UsageBy.MODEL: ("model", "model_version"), UsageBy.PERSON: ("requester",), UsageBy.DAY: ("day",)}
_SUMS = "sum(tiles)::bigint AS tiles, sum(worker_seconds)::double precision AS worker_seconds"
_OF_DAYS = f"SELECT day, {_SUMS} FROM usage WHERE day BETWEEN %(first)s AND %(last)s GROUP BY day ORDER BY day"
_OF_DETAILS = sql.SQL(
    """
    SELECT {keys}, {sums} FROM usage_details
    WHERE day BETWEEN %(first)s AND %(last)s AND (%(requester)s::text IS NULL OR requester = %(requester)s)
    GROUP BY {keys} ORDER BY {order}
    """
)
#: What the release before counted: its sums are in `usage` alone.
_UNDIVIDED = """
    SELECT coalesce(sum(tiles), 0)::bigint AS tiles,
        coalesce(sum(worker_seconds), 0)::double precision AS worker_seconds
    FROM (
        SELECT tiles, worker_seconds FROM usage WHERE day BETWEEN %(first)s AND %(last)s
        UNION ALL
        SELECT -tiles, -worker_seconds FROM usage_details WHERE day BETWEEN %(first)s AND %(last)s
    ) AS both_tables
"""
_MONTH = """
    SELECT date_trunc('month', now() AT TIME ZONE 'UTC')::date AS month, coalesce((
        SELECT sum(worker_seconds) FROM usage
        WHERE tenant = %s AND day >= date_trunc('month', now() AT TIME ZONE 'UTC')::date
    ), 0)::double precision AS worker_seconds
"""


class PostgresTenantSpending(Transactions):
    """The API's view of a tenant's usage and budget."""

    def list_usage(
        self, actor: Actor, by: UsageBy, *, first: date, last: date, requester: str | None = None
    ) -> tuple[UsageLine, ...]:
        asked = {"first": first, "last": last, "requester": requester}
        with self._transaction(actor.tenant) as cursor:
            if by is UsageBy.DAY and requester is None:
                return tuple(UsageLine(**row) for row in cursor.execute(_OF_DAYS.encode(), asked))
            keys = sql.SQL(", ").join(map(sql.Identifier, _BY[by]))
            order = keys if by is UsageBy.DAY else sql.SQL("worker_seconds DESC, {}").format(keys)
            query = _OF_DETAILS.format(keys=keys, sums=sql.SQL(_SUMS), order=order)
            lines = [UsageLine(**row) for row in cursor.execute(query, asked)]
            if requester is None:
                lines += _list_undivided(cursor, asked)
            return tuple(lines)

    def measure_budget(self, actor: Actor) -> BudgetUse | None:
        with self._transaction(actor.tenant) as cursor:
            held = quotas.read(cursor, actor)
            if held.dollars_a_month is None:
                return None
            used = _one(cursor, _MONTH, (actor.tenant,))
            return BudgetUse(
                month=used["month"],
                dollars_a_month=held.dollars_a_month,
                stops=bool(held.stops_at_budget),
                worker_seconds=used["worker_seconds"],
            )


def add_usage(cursor: Cursor, job: Job, *, tiles: int, since: datetime) -> None:
    """Count a shard that has just been committed; its lease began at `since`. The caller holds the job's lock."""
    counted = {
        "tenant": job.tenant,
        "model": job.model,
        "version": job.model_version,
        "requester": job.created_by,
        "tiles": tiles,
        "since": since,
    }
    cursor.execute(_COUNT, counted)
    cursor.execute(_DIVIDE, counted)


def _list_undivided(cursor: Cursor, asked: Mapping[str, object]) -> list[UsageLine]:
    left = UsageLine(**_one(cursor, _UNDIVIDED, asked))
    return [left] if left.tiles > 0 else []


def _one(cursor: Cursor, query: str, values: object) -> Row:
    row = cursor.execute(query.encode(), values).fetchone()  # type: ignore[arg-type]
    assert row is not None, "an aggregate has a row"
    return row
