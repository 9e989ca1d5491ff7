"""API keys of a tenant: made, replaced, expired, revoked. A key is shown once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from wsi.access import make_api_key, require_administrator
from wsi.administration.people import check_role, choose_tenant
from wsi.errors import Invalid
from wsi.ports.administration import MemberDirectory
from wsi.records.administration.keys import StoredKey
from wsi.records.identity import Actor, Role


@dataclass(frozen=True, kw_only=True, slots=True)
class NewKey:
    stored: StoredKey
    key: str  #: a secret: shown once, never stored or logged


def add(
    actor: Actor,
    tenant_name: str | None,
    name: str,
    role: Role,
    *,
    expires_at: datetime | None,
    now: datetime,
    directory: MemberDirectory,
) -> NewKey:
    """Make a key."""
    tenant = choose_tenant(actor, tenant_name, directory)
    check_role(tenant, role)
    _check_future(expires_at, now)
    key = make_api_key()
    return NewKey(stored=directory.add_key(actor, tenant, name, role, key, expires_at=expires_at), key=key)


def rotate(actor: Actor, key_id: UUID, *, hours: float, directory: MemberDirectory) -> NewKey:
    """Make the successor of a key, which works for `hours` more."""
    require_administrator(actor)
    key = make_api_key()
    return NewKey(stored=directory.rotate_key(actor, key_id, key, hours=hours), key=key)


def expire(
    actor: Actor, key_id: UUID, expires_at: datetime | None, *, now: datetime, directory: MemberDirectory
) -> StoredKey:
    """Set when a key expires; None: never."""
    require_administrator(actor)
    _check_future(expires_at, now)
    return directory.expire_key(actor, key_id, expires_at)


def _check_future(expires_at: datetime | None, now: datetime) -> None:
    if expires_at is not None and expires_at <= now:
        raise Invalid("The expiry is in the past; revoke a key that is to end now.")
