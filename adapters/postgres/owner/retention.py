"""Retention as an operator sets it: how long a tenant keeps slides, results and idempotency keys."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import class_row

from adapters.postgres.erasure.retention import NAMES
from wsi.records.quotas import Retention

_GET = sql.SQL("SELECT {} FROM retention WHERE tenant = %s").format(sql.SQL(", ").join(map(sql.Identifier, NAMES)))


def change_retention(connection: psycopg.Connection, tenant: UUID, changes: Mapping[str, int | None]) -> Retention:
    """Change the named periods of a tenant, and return all of them."""
    connection.execute("INSERT INTO retention (tenant) VALUES (%s) ON CONFLICT DO NOTHING", (tenant,))
    for name, days in changes.items():
        if name not in NAMES:
            raise AssertionError(name)
        statement = sql.SQL("UPDATE retention SET {} = %s WHERE tenant = %s").format(sql.Identifier(name))
        connection.execute(statement, (days, tenant))
    return read_retention(connection, tenant)


def read_retention(connection: psycopg.Connection, tenant: UUID) -> Retention:
    """Return the periods of a tenant; without any, it keeps everything."""
    with connection.cursor(row_factory=class_row(Retention)) as cursor:
        return cursor.execute(_GET, (tenant,)).fetchone() or Retention()
