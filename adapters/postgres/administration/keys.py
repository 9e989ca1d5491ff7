"""API keys of tenants in SQL. The API writes the digest of a secret, and can read none."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from adapters.postgres import rows
from adapters.postgres.administration.acting import (
    ActingTransactions,
    begin_change,
    find_tenant_of,
    note_change,
)
from adapters.postgres.connections import Cursor
from wsi.access import split_api_key
from wsi.errors import Conflict, Forbidden, NotFound
from wsi.records.administration.keys import StoredKey
from wsi.records.identity import Actor, Role

_WORKS = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())"
_COLUMNS = f"id, tenant, name, prefix, role, created_at, expires_at, revoked_at, last_used_at, {_WORKS} AS works"
_TENANT = "SELECT tenant FROM api_keys WHERE id = %s"
_UNKNOWN = "There is no such key; the list of keys shows the ids."


class PostgresKeys(ActingTransactions):
    def list_keys(self, actor: Actor, tenant: UUID) -> tuple[StoredKey, ...]:
        with self._acting(actor) as cursor:
            found = cursor.execute(
                f"SELECT {_COLUMNS} FROM api_keys WHERE tenant = %s ORDER BY name, created_at, id".encode(), (tenant,)
            )
            return tuple(rows.read_stored_key(row) for row in found)

    def add_key(
        self, actor: Actor, tenant: UUID, name: str, role: Role, key: str, *, expires_at: datetime | None
    ) -> StoredKey:
        with self._acting(actor) as cursor:
            begin_change(cursor, tenant)
            named = f"SELECT FROM api_keys WHERE tenant = %s AND name = %s AND {_WORKS}"
            if cursor.execute(named.encode(), (tenant, name)).fetchone() is not None:
                raise Conflict("A key of this name works already; rotate or revoke it, or choose another name.")
            added = _insert(cursor, tenant, name, role, key, expires_at)
            detail = {"role": role} | _describe_expiry(expires_at)
            note_change(cursor, actor, tenant, "key.add", f"key:{added.id}", detail)
            return added

    def rotate_key(self, actor: Actor, key_id: UUID, key: str, *, hours: float) -> StoredKey:
        with self._acting(actor) as cursor:
            old = _begin_change_of_working(cursor, key_id)
            added = _insert(cursor, old.tenant, old.name, old.role, key, old.expires_at)
            ends = cursor.execute(
                "UPDATE api_keys SET expires_at = least(expires_at, now() + make_interval(secs => %s)) WHERE id = %s",
                (hours * 3600, key_id),
            )
            assert ends.rowcount == 1, "the key was just read"
            detail = {"successor": f"key:{added.id}", "hours": hours}
            note_change(cursor, actor, old.tenant, "key.rotate", f"key:{key_id}", detail)
            return added

    def expire_key(self, actor: Actor, key_id: UUID, expires_at: datetime | None) -> StoredKey:
        with self._acting(actor) as cursor:
            old = _begin_change_of_working(cursor, key_id)
            if expires_at != old.expires_at:
                _check_outlives(cursor, expires_at)
                cursor.execute("UPDATE api_keys SET expires_at = %s WHERE id = %s", (expires_at, key_id))
                detail = _describe_expiry(expires_at)
                note_change(cursor, actor, old.tenant, "key.expire", f"key:{key_id}", detail)
            return _get(cursor, key_id)

    def revoke_key(self, actor: Actor, key_id: UUID) -> StoredKey:
        with self._acting(actor) as cursor:
            tenant = find_tenant_of(cursor, _TENANT, key_id, _UNKNOWN)
            begin_change(cursor, tenant)
            done = cursor.execute(
                "UPDATE api_keys SET revoked_at = now() WHERE id = %s AND revoked_at IS NULL", (key_id,)
            )
            found = _get(cursor, key_id)
            if done.rowcount:
                note_change(cursor, actor, tenant, "key.revoke", f"key:{key_id}")
            return found


def _begin_change_of_working(cursor: Cursor, key_id: UUID) -> StoredKey:
    """Enter the key's tenant, and return the key. Raises NotFound, and Conflict for one that does not work."""
    begin_change(cursor, find_tenant_of(cursor, _TENANT, key_id, _UNKNOWN))
    row = cursor.execute(f"SELECT {_COLUMNS} FROM api_keys WHERE id = %s AND {_WORKS}".encode(), (key_id,)).fetchone()
    if row is None:
        raise Conflict("This key is revoked or has expired; make a new one.")
    return rows.read_stored_key(row)


def _insert(cursor: Cursor, tenant: UUID, name: str, role: Role, key: str, expires_at: datetime | None) -> StoredKey:
    _check_outlives(cursor, expires_at)
    parts = split_api_key(key)
    assert parts is not None, "the key was just made"
    cursor.execute(
        """
        INSERT INTO api_keys (tenant, name, prefix, secret_sha256, role, expires_at) VALUES (%s, %s, %s, %s, %s, %s)
        """,
        (tenant, name, *parts, role, expires_at),
    )
    row = cursor.execute(f"SELECT {_COLUMNS} FROM api_keys WHERE prefix = %s".encode(), (parts[0],)).fetchone()
    assert row is not None, "the key was just added"
    return rows.read_stored_key(row)


def _get(cursor: Cursor, key_id: UUID) -> StoredKey:
    row = cursor.execute(f"SELECT {_COLUMNS} FROM api_keys WHERE id = %s".encode(), (key_id,)).fetchone()
    if row is None:
        raise NotFound(_UNKNOWN)
    return rows.read_stored_key(row)


def _check_outlives(cursor: Cursor, expires_at: datetime | None) -> None:
    """Raise Forbidden if a key with this expiry would outlive the key that makes it. A policy refuses it too."""
    row = cursor.execute("SELECT until FROM tessera.acting()").fetchone()
    until = row["until"] if row is not None else None
    if until is not None and (expires_at is None or expires_at > until):
        raise Forbidden(f"Your own key expires at {until:%Y-%m-%d %H:%M} UTC; choose an expiry no later than that.")


def _describe_expiry(expires_at: datetime | None) -> dict[str, str | None]:
    return {"expires_at": expires_at.isoformat() if expires_at is not None else None}
