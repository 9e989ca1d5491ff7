"""Quotas in SQL: what a tenant's new job or upload is held against, in the transaction that adds it.

Requests of one tenant that meet the same limit take turns: each counts what the others before it have committed. A
tenant without the limit takes no lock and counts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from psycopg import sql

from adapters.postgres.connections import Cursor
from wsi.planning.estimate import compute_cost
from wsi.quota_rules import (
    check_budget,
    check_bytes_stored,
    check_jobs_waiting,
    check_priority,
    check_tiles,
    check_uploads_open,
)
from wsi.records.identity import Actor
from wsi.records.jobs import NewJob, Priority
from wsi.records.quotas import Quotas
from wsi.records.slides import SlideFile

#: Columns are named as the fields are.
NAMES = tuple(field.name for field in fields(Quotas))
READ = sql.SQL(
    """
    SELECT {values} FROM (SELECT %s::uuid AS id) AS asked
        LEFT JOIN quotas AS own ON own.tenant = asked.id LEFT JOIN quotas AS general ON general.tenant IS NULL
    """
).format(
    values=sql.SQL(", ").join(sql.SQL("coalesce(own.{0}, general.{0}) AS {0}").format(sql.Identifier(n)) for n in NAMES)
)
#: A lock that ends with its transaction, for which RDS Proxy does not pin the session.
_TAKE_TURN = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_TILES_TODAY = """
    SELECT now() AS now, coalesce(sum(CASE
        WHEN finished_at IS NOT NULL THEN tiles_inferred + tiles_unreadable
        WHEN tiles_planned > 0 THEN tiles_planned ELSE tiles_expected
    END), 0)::bigint AS used
    FROM jobs WHERE tenant = %s AND created_at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
"""
_SECONDS_THIS_MONTH = """
    SELECT now() AS now, coalesce(sum(worker_seconds), 0)::double precision AS used FROM usage
    WHERE tenant = %s AND day >= date_trunc('month', now() AT TIME ZONE 'UTC')::date
"""
_WAITING = "SELECT count(*) AS jobs FROM jobs WHERE tenant = %s AND finished_at IS NULL AND first_lease_at IS NULL"
_OPEN = "SELECT count(*) AS uploads FROM slides WHERE tenant = %s AND state = 'UPLOADING'"
#: The address of an uploaded file holds the slide's id; that of one in a customer's bucket cannot.
_STORED = """
    SELECT coalesce(sum(size), 0)::bigint AS bytes FROM slide_files JOIN slides ON slides.id = slide_id
    WHERE slides.tenant = %s AND slides.state <> 'DELETED' AND strpos(uri, slide_id::text) > 0
"""


def check_priority_allowed(cursor: Cursor, actor: Actor, asked: Priority) -> None:
    """Raise Forbidden if the tenant's members may not ask for such an urgent job."""
    check_priority(read(cursor, actor), asked)


def check_new_job(cursor: Cursor, actor: Actor, job: NewJob, *, dollars_per_gpu_hour: float | None) -> None:
    """Raise Forbidden or TooManyRequests if the tenant may not have this job now. `dollars_per_gpu_hour` None: its
    budget is not looked at."""
    quotas = read(cursor, actor)
    check_priority(quotas, job.priority)
    # What jobs under way will cost is not known: they may end above the budget, so no lock makes requests take turns.
    if dollars_per_gpu_hour is not None and quotas.dollars_a_month is not None and quotas.stops_at_budget:
        month = _ask(cursor, _SECONDS_THIS_MONTH, actor)
        check_budget(quotas, dollars=compute_cost(month["used"], dollars_per_gpu_hour), now=month["now"])
    if quotas.jobs_waiting is None and quotas.tiles_a_day is None:
        return
    cursor.execute(_TAKE_TURN, (f"jobs of {actor.tenant}",))
    if quotas.jobs_waiting is not None:
        check_jobs_waiting(quotas, _ask(cursor, _WAITING, actor)["jobs"])
    if quotas.tiles_a_day is not None:
        today = _ask(cursor, _TILES_TODAY, actor)
        check_tiles(quotas, used=today["used"], more=job.tiles_expected, now=today["now"])


def check_new_upload(cursor: Cursor, actor: Actor, files: Sequence[SlideFile]) -> None:
    """Raise TooManyRequests if the tenant may not open this upload now."""
    quotas = read(cursor, actor)
    if quotas.uploads_open is None and quotas.bytes_stored is None:
        return
    cursor.execute(_TAKE_TURN, (f"uploads of {actor.tenant}",))
    if quotas.uploads_open is not None:
        check_uploads_open(quotas, _ask(cursor, _OPEN, actor)["uploads"])
    if quotas.bytes_stored is not None:
        used = _ask(cursor, _STORED, actor)["bytes"]
        check_bytes_stored(quotas, used=used, more=sum(file.size for file in files))


def read_quotas(row: dict[str, Any]) -> Quotas:
    """Return the row's quotas."""
    values: dict[str, Any] = {name: row[name] for name in NAMES}
    if values["top_priority"] is not None:
        values["top_priority"] = Priority(values["top_priority"])
    return Quotas(**values)


def read(cursor: Cursor, actor: Actor) -> Quotas:
    """Return the quotas that hold for the actor's tenant."""
    row = cursor.execute(READ, (actor.tenant,)).fetchone()
    assert row is not None, "a row is asked for"
    return read_quotas(row)


def _ask(cursor: Cursor, query: str, actor: Actor) -> dict[str, Any]:
    row = cursor.execute(query.encode(), (actor.tenant,)).fetchone()
    assert row is not None, "an aggregate has a row"
    return row
