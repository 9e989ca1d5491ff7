"""Administration by the owner: tenants, people and keys. Each change to a tenant is written into its audit log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from uuid import UUID

import psycopg
from psycopg import errors, sql
from psycopg.rows import class_row, dict_row

from adapters.postgres.owner.holdings import HoldingsAdministration
from adapters.postgres.owner.seeding import (
    OPERATORS_NAME,
    SeedKey,
    SeedUser,
    ensure_key,
    ensure_tenant,
    ensure_user,
    split_key,
)
from adapters.postgres.owner.transactions import OwnerTransactions, lock_tenant
from adapters.postgres.owner.upkeep import Upkeep
from adapters.postgres.quotas import NAMES as QUOTA_NAMES
from adapters.postgres.quotas import READ as READ_QUOTAS
from adapters.postgres.quotas import read_quotas
from wsi.access import make_api_key
from wsi.errors import Conflict, NotFound
from wsi.records.audit.lines import INSTALLATION
from wsi.records.identity import OPERATORS, Role
from wsi.records.quotas import Quotas


@dataclass(frozen=True, kw_only=True, slots=True)
class TenantSummary:
    id: UUID
    name: str
    users: int  #: who may sign in
    keys: int  #: that work
    is_suspended: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class DailyUsage:
    """The work of GPU workers on one day in UTC, for all tenants."""

    day: date
    tiles: int
    worker_seconds: float  #: of finished shards


class Administration(HoldingsAdministration, Upkeep, OwnerTransactions):
    """The owner's actions. Repeating one changes nothing, except `add_key`. A tenant is named by its name."""

    def list_tenants(self) -> tuple[TenantSummary, ...]:
        with self._transaction() as connection, connection.cursor(row_factory=class_row(TenantSummary)) as cursor:
            cursor.execute(
                """
                SELECT id, name,
                    (SELECT count(*) FROM users WHERE tenant = tenants.id AND disabled_at IS NULL) AS users,
                    (SELECT count(*) FROM api_keys WHERE tenant = tenants.id AND revoked_at IS NULL
                        AND (expires_at IS NULL OR expires_at > now())) AS keys,
                    suspended_at IS NOT NULL AS is_suspended
                FROM tenants WHERE id <> %s ORDER BY name
                """,
                (OPERATORS,),
            )
            return tuple(cursor)

    def list_usage(self, days: int) -> tuple[DailyUsage, ...]:
        """Return the last `days` days before today on which shards were finished, the oldest first."""
        with self._transaction() as connection, connection.cursor(row_factory=class_row(DailyUsage)) as cursor:
            cursor.execute(
                """
                SELECT day, sum(tiles)::bigint AS tiles, sum(worker_seconds) AS worker_seconds
                FROM usage, (SELECT (now() AT TIME ZONE 'UTC')::date AS today) AS clock
                WHERE day >= today - %s AND day < today
                GROUP BY day ORDER BY day
                """,
                (days,),
            )
            return tuple(cursor)

    def add_tenant(self, name: str) -> UUID:
        with self._transaction() as connection:
            tenant, is_new = ensure_tenant(connection, name)
            if is_new:
                self._audit(connection, tenant, "tenant.add", str(tenant))
            return tenant

    def rename_tenant(self, tenant: str, name: str) -> None:
        """Give a tenant another name. Raises NotFound, and Conflict for a name that another tenant has."""
        with self._transaction() as connection:
            tenant_id = lock_tenant(connection, tenant)
            _refuse_operators(tenant_id)
            try:
                connection.execute("UPDATE tenants SET name = %s WHERE id = %s", (name, tenant_id))
            except errors.UniqueViolation as error:
                raise Conflict("Another tenant has this name.") from error
            if name != tenant:
                self._audit(connection, tenant_id, "tenant.rename", str(tenant_id))

    def suspend_tenant(self, tenant: str, *, is_suspended: bool) -> None:
        """Suspend a tenant, or let it resume. The next request of its people and keys is answered with the reason. Jobs
        that it has started run to their end, and its data stays. Raises NotFound."""
        with self._transaction() as connection:
            tenant_id = lock_tenant(connection, tenant)
            _refuse_operators(tenant_id)
            done = connection.execute(
                """
                UPDATE tenants SET suspended_at = CASE WHEN %(is_suspended)s THEN now() END
                WHERE id = %(tenant)s AND (suspended_at IS NOT NULL) <> %(is_suspended)s
                """,
                {"is_suspended": is_suspended, "tenant": tenant_id},
            )
            if done.rowcount:
                done_to_it = "tenant.suspend" if is_suspended else "tenant.resume"
                self._audit(connection, tenant_id, done_to_it, str(tenant_id))

    def add_operator(self, issuer: str, subject: str, email: str | None) -> UUID:
        """Make a person an operator, who belongs to no other tenant then. Raises Conflict for a person of a tenant."""
        return self.add_user(OPERATORS_NAME, SeedUser(issuer=issuer, subject=subject, role=Role.OPERATOR, email=email))

    def add_user(self, tenant: str, user: SeedUser) -> UUID:
        """Add a user, or change a known user's role; a disabled user may sign in again. Raises NotFound, Conflict."""
        with self._transaction() as connection:
            tenant_id = lock_tenant(connection, tenant)
            changed = ensure_user(connection, tenant_id, user)
            theirs, user_id = _user(connection, user.issuer, user.subject)
            if theirs != tenant_id:
                raise Conflict("This person belongs to another tenant; one person can be in one tenant only.")
            if changed:
                self._audit(connection, tenant_id, "user.add", f"user:{user_id}", {"role": user.role})
            return user_id

    def disable_user(self, issuer: str, subject: str) -> None:
        """Disable a user. It takes effect within a minute, which is how long the gateway keeps an answer of the
        authorizer. Raises NotFound."""
        with self._transaction() as connection:
            tenant, user_id = _user(connection, issuer, subject)
            done = connection.execute(
                "UPDATE users SET disabled_at = now() WHERE id = %s AND disabled_at IS NULL", (user_id,)
            )
            if done.rowcount:
                self._audit(connection, tenant, "user.disable", f"user:{user_id}")

    def add_key(self, tenant: str, name: str, role: Role) -> str:
        """Add a key and return it; nobody can read it again. Raises NotFound, and Conflict while a key of this name
        works."""
        key = make_api_key()
        with self._transaction() as connection:
            tenant_id = lock_tenant(connection, tenant)
            if _working_keys(connection, tenant_id, name):
                raise Conflict("A key of this name works already; revoke it first or choose another name.")
            ensure_key(connection, tenant_id, SeedKey(key=key, role=role, name=name))
            row = connection.execute("SELECT id FROM api_keys WHERE prefix = %s", (split_key(key)[0],)).fetchone()
            assert row is not None, "the key was just added"
            self._audit(connection, tenant_id, "key.add", f"key:{row[0]}", {"role": role})
        return key

    def revoke_key(self, tenant: str, name: str) -> int:
        """Revoke the keys of this name and return their number; they stop working within a minute. Raises NotFound for
        an unknown tenant."""
        with self._transaction() as connection:
            tenant_id = lock_tenant(connection, tenant)
            keys = _working_keys(connection, tenant_id, name)
            connection.execute("UPDATE api_keys SET revoked_at = now() WHERE id = ANY(%s)", (keys,))
            for key in keys:
                self._audit(connection, tenant_id, "key.revoke", f"key:{key}")
            return len(keys)

    def set_quotas(self, tenant: str | None, changes: Mapping[str, int | float | str | None]) -> Quotas:
        """Change the named quotas of a tenant, and return those that then hold for it. None for a quota: that of all
        holds. `tenant` None: change those of all tenants without a value of their own. Raises NotFound."""
        with self._transaction() as connection:
            tenant_id = lock_tenant(connection, tenant) if tenant is not None else None
            connection.execute("INSERT INTO quotas (tenant) VALUES (%s) ON CONFLICT DO NOTHING", (tenant_id,))
            for name, value in changes.items():
                if name not in QUOTA_NAMES:
                    raise AssertionError(name)
                statement = sql.SQL("UPDATE quotas SET {} = %s WHERE tenant IS NOT DISTINCT FROM %s")
                connection.execute(statement.format(sql.Identifier(name)), (value, tenant_id))
            if changes:
                self._audit(connection, tenant_id, "quotas.set", str(tenant_id or INSTALLATION), dict(changes))
            return _quotas(connection, tenant_id)

    def get_quotas(self, tenant: str | None) -> Quotas:
        """Return the quotas that hold for a tenant; None: for all without a value of their own. Raises NotFound."""
        with self._transaction() as connection:
            return _quotas(connection, lock_tenant(connection, tenant) if tenant is not None else None)


def _refuse_operators(tenant: UUID) -> None:
    if tenant == OPERATORS:
        raise Conflict("The operators' tenant stays as it is.")


def _quotas(connection: psycopg.Connection, tenant: UUID | None) -> Quotas:
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(READ_QUOTAS, (tenant,)).fetchone()
    assert row is not None, "a row is asked for"
    return read_quotas(row)


def _user(connection: psycopg.Connection, issuer: str, subject: str) -> tuple[UUID, UUID]:
    """Return the user's (tenant, id). Raises NotFound."""
    row = connection.execute(
        "SELECT tenant, id FROM users WHERE issuer = %s AND subject = %s", (issuer, subject)
    ).fetchone()
    if row is None:
        raise NotFound("There is no user with this issuer and subject.")
    return row[0], row[1]


def _working_keys(connection: psycopg.Connection, tenant: UUID, name: str) -> list[UUID]:
    found = connection.execute(
        """
        SELECT id FROM api_keys
        WHERE tenant = %s AND name = %s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
        """,
        (tenant, name),
    )
    return [row[0] for row in found]
