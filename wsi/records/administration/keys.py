"""API keys without their secrets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from wsi.records.identity import Role


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredKey:
    """An API key without its secret, which nobody can read again."""

    id: UUID
    tenant: UUID
    name: str
    prefix: str  #: the key begins with tsk_<prefix>_
    role: Role
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None  #: to the hour
    works: bool  #: neither revoked nor expired
