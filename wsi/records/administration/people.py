"""People of a tenant, and those who are invited."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from wsi.records.identity import Role


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A person of a tenant."""

    id: UUID
    tenant: UUID
    subject: str  #: `sub` of the person's tokens
    role: Role
    email: str | None = None  #: personal data
    disabled_at: datetime | None = None
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Invitation:
    """A person who may become a member by signing in, once, until `expires_at`."""

    id: UUID
    tenant: UUID
    email: str  #: personal data, in small letters
    role: Role
    expires_at: datetime
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class HandedOver:
    """Numbers of what one person left to another."""

    slides: int
    jobs: int  #: that had not ended


@dataclass(frozen=True, kw_only=True, slots=True)
class SignInAccount:
    """An account at the sign-in."""

    issuer: str
    subject: str
    password: str | None = None  #: for the first sign-in, where no mail brings it. A secret: shown once, never stored
