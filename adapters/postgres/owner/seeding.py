"""First tenants, their people, keys and sources, and models. Run by the installation's owner; run twice, it changes
nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import psycopg

from adapters.postgres.connections import Connections
from adapters.postgres.owner.sources import add_source
from adapters.postgres.system_ledger import PostgresSystemLedger
from wsi.access import split_api_key
from wsi.records.identity import Role
from wsi.records.models import ModelVersion
from wsi.sources.source import Source

OPERATORS_NAME = "(operators)"  #: of the operators' tenant, which the schema holds from the start


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedUser:
    issuer: str  #: `iss` of the person's tokens
    subject: str  #: `sub` of the person's tokens
    role: Role
    email: str | None = None  #: the name that others of the tenant see: personal data


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedKey:
    key: str  #: "tsk_<prefix>_<secret>"; only the prefix and the secret's sha256 are stored
    role: Role
    name: str = "seed"


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedTenant:
    name: str
    users: tuple[SeedUser, ...] = ()
    keys: tuple[SeedKey, ...] = ()
    sources: tuple[Source, ...] = ()


def seed(owner_dsn: str, *, tenants: Iterable[SeedTenant] = (), models: Iterable[ModelVersion] = ()) -> dict[str, UUID]:
    """Add what is missing and return tenant ids by name. Known users and keys get the role given here."""
    with psycopg.connect(owner_dsn, prepare_threshold=None) as connection:
        ids = {tenant.name: _seed_tenant(connection, tenant) for tenant in tenants}
    connections = Connections(owner_dsn)
    try:
        ledger = PostgresSystemLedger(connections)
        for model in models:
            ledger.register_model(model)
    finally:
        connections.close()
    return ids


def _seed_tenant(connection: psycopg.Connection, tenant: SeedTenant) -> UUID:
    tenant_id, _ = ensure_tenant(connection, tenant.name)
    for user in tenant.users:
        ensure_user(connection, tenant_id, user)
    for key in tenant.keys:
        ensure_key(connection, tenant_id, key)
    for source in tenant.sources:
        add_source(connection, tenant_id, source)
    return tenant_id


def ensure_tenant(connection: psycopg.Connection, name: str) -> tuple[UUID, bool]:
    """Make sure that the tenant exists, and return its id and whether it is new."""
    added = connection.execute("INSERT INTO tenants (name) VALUES (%s) ON CONFLICT DO NOTHING", (name,)).rowcount
    row = connection.execute("SELECT id FROM tenants WHERE name = %s", (name,)).fetchone()
    assert row is not None, "the tenant was just added"
    return row[0], added == 1


def ensure_user(connection: psycopg.Connection, tenant: UUID, user: SeedUser) -> bool:
    """Make sure that the user exists, and return whether anything changed: not for a person of another tenant. A
    disabled user may sign in again."""
    changed = connection.execute(
        """
        INSERT INTO users (tenant, issuer, subject, role, email) VALUES (%s, %s, %s, %s, %s)
        ON CONFLICT (issuer, subject) DO UPDATE
        SET role = excluded.role, disabled_at = NULL, email = coalesce(excluded.email, users.email)
        WHERE users.tenant = excluded.tenant AND (
            users.role <> excluded.role OR users.disabled_at IS NOT NULL
            OR coalesce(excluded.email, users.email) IS DISTINCT FROM users.email
        )
        """,
        (tenant, user.issuer, user.subject, user.role, user.email),
    )
    return changed.rowcount == 1


def ensure_key(connection: psycopg.Connection, tenant: UUID, key: SeedKey) -> None:
    prefix, secret_sha256 = split_key(key.key)
    connection.execute(
        """
        INSERT INTO api_keys (tenant, name, prefix, secret_sha256, role) VALUES (%s, %s, %s, %s, %s)
        ON CONFLICT (prefix) DO UPDATE SET secret_sha256 = excluded.secret_sha256, role = excluded.role
        WHERE api_keys.tenant = excluded.tenant
        """,
        (tenant, key.name, prefix, secret_sha256, key.role),
    )


def split_key(key: str) -> tuple[str, str]:
    """Return (prefix, hex sha256 of the secret) of "tsk_<prefix>_<secret>". Raises ValueError."""
    found = split_api_key(key)
    if found is None:
        raise ValueError("an API key looks like tsk_<prefix>_<secret>")
    return found
