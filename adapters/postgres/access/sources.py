"""The sources of tenants, as processes may know them; the owner alone changes them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from uuid import UUID

from psycopg import errors

from adapters.postgres.connections import Cursor, Transactions
from wsi.sources.source import Source, make_outside_error

_LIST = "SELECT bucket, prefix FROM sources WHERE tenant = %s ORDER BY bucket, prefix"
_TRIGGER = "within_sources"


class PostgresTenantSources(Transactions):
    """The sources of the tenant that the API serves."""

    def list_sources(self, tenant: UUID) -> tuple[Source, ...]:
        with self._transaction(tenant) as cursor:
            return _list(cursor, tenant)


class PostgresSystemSources(Transactions):
    """The sources of all tenants, for processes that read slides."""

    def list_sources(self, tenant: UUID) -> tuple[Source, ...]:
        with self._transaction() as cursor:
            return _list(cursor, tenant)


@contextmanager
def translate_outside() -> Generator[None]:
    """Raise SourceOutside where the database refuses a file that no source covers."""
    try:
        yield
    except errors.InsufficientPrivilege as refusal:
        if refusal.diag.constraint_name != _TRIGGER:
            raise
        raise make_outside_error() from refusal


def _list(cursor: Cursor, tenant: UUID) -> tuple[Source, ...]:
    return tuple(Source(row["bucket"], row["prefix"]) for row in cursor.execute(_LIST, (tenant,)))
