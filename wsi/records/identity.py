"""The requester. The tenant comes from our own tables, never from the client."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class Role(StrEnum):
    VIEWER = "viewer"
    ANALYST = "analyst"
    ADMIN = "admin"


@dataclass(frozen=True, kw_only=True, slots=True)
class Actor:
    tenant: UUID
    subject: str  #: "user:<uuid>" or "key:<uuid>"; what the audit log names
    role: Role
