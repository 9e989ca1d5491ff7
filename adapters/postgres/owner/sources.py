"""Changes of tenants' sources, in a transaction of the owner."""

from __future__ import annotations

from uuid import UUID

import psycopg

from wsi.sources.source import Source


def list_sources(connection: psycopg.Connection, tenant: UUID) -> tuple[Source, ...]:
    found = connection.execute(
        "SELECT bucket, prefix FROM sources WHERE tenant = %s ORDER BY bucket, prefix", (tenant,)
    )
    return tuple(Source(bucket, prefix) for bucket, prefix in found)


def add_source(connection: psycopg.Connection, tenant: UUID, source: Source) -> bool:
    """Make sure that the tenant has the source, and return whether it is new."""
    added = connection.execute(
        "INSERT INTO sources (tenant, bucket, prefix) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        (tenant, source.bucket, source.prefix),
    )
    return added.rowcount == 1


def remove_source(connection: psycopg.Connection, tenant: UUID, source: Source) -> bool:
    """Remove the source, and return whether the tenant had it."""
    removed = connection.execute(
        "DELETE FROM sources WHERE tenant = %s AND bucket = %s AND prefix = %s",
        (tenant, source.bucket, source.prefix),
    )
    return removed.rowcount == 1
