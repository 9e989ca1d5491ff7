"""The requester. The tenant comes from our own tables, never from the client."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class Role(StrEnum):
    VIEWER = "viewer"
    ANALYST = "analyst"
    ADMIN = "admin"
    OPERATOR = "operator"  #: administers tenants, and sees no slide and no job


OPERATORS = UUID("00000000-0000-4000-8000-000000000001")  #: the tenant of the operators, and of nobody else


#: Claims that single sign-on adds to tokens (lambdas/tokens/sign_on.py). Attributes that people can write themselves
#: become claims of other names: custom:…
CLAIM_TENANT, CLAIM_ROLE, CLAIM_EMAIL = "tessera_tenant", "tessera_role", "tessera_email"


@dataclass(frozen=True, kw_only=True, slots=True)
class Membership:
    """The tenant and role of a person, as a token of single sign-on states them."""

    tenant: str  #: name
    role: Role
    email: str | None  #: personal data
    issued_at: datetime  #: of two tokens, the newer one decides


@dataclass(frozen=True, kw_only=True, slots=True)
class Actor:
    tenant: UUID
    subject: str  #: "user:<uuid>" or "key:<uuid>"; what the audit log names
    role: Role
