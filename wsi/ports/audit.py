"""The audit log as the API, the authorizer and the sweep write and read it. Every other write of the ledger adds its
line in its own transaction."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

from wsi.records.audit.lines import AuditFilter, AuditHead, AuditLine
from wsi.records.identity import Actor
from wsi.records.pages import Page


class Refusal(StrEnum):
    """The reason of a refused sign-in. Of a key or person that it knows, the ledger says REVOKED or DISABLED itself."""

    NO_CREDENTIAL = "no_credential"
    MALFORMED = "malformed"  #: neither a token nor a key
    UNKNOWN = "unknown"  #: a person or a key that nobody added
    WRONG_SECRET = "wrong_secret"  # noqa: S105  # a word of the log
    REVOKED = "revoked"
    DISABLED = "disabled"
    EXPIRED = "expired"
    WRONG_CLIENT = "wrong_client"
    NOT_VALID = "not_valid"  #: signature, issuer or form of the token


class TenantAudit(Protocol):
    """The API's operations on the audit log."""

    def audit(self, actor: Actor, action: str, subject: str, detail: Mapping[str, Any] | None = None) -> None:
        """Write one line, for an action that no other method records (a result link that was issued)."""
        ...

    def audit_view(self, actor: Actor, action: str, subject: str) -> float:
        """Write one line, unless this actor has one of this action and subject from the last VIEW_SECONDS. Return the
        number of seconds in which another view would get no line."""
        ...

    def list_audit(self, actor: Actor, wanted: AuditFilter, *, cursor: int | None, limit: int) -> Page[AuditLine]:
        """List the lines of the actor's tenant, newest first; `cursor` is the number of the last line before the
        page."""
        ...


class SystemAudit(Protocol):
    """The sweep's operation on the audit log."""

    def keep_audit(self, *, anchor_seconds: float) -> tuple[AuditHead, ...]:
        """Write a line for each minute, subject and reason of refused sign-ins, and forget views that are long ago.
        Return the heads of the chains that have grown, each at most once in `anchor_seconds`: the caller logs them
        outside of the database."""
        ...


class SignInAudit(Protocol):
    """The authorizer's operations on the audit log."""

    def note_session(self, actor: Actor, session: str) -> None:
        """Write a line when a session is used for the first time. `session` is no secret: a hash."""
        ...

    def note_refusal(
        self, reason: Refusal, *, issuer: str | None = None, subject: str | None = None, prefix: str | None = None
    ) -> None:
        """Count a refused sign-in of the person (`issuer` and `subject`) or key (`prefix`) that was claimed, or of
        nobody. However many there are in a minute, they become one line for each claimed subject and reason."""
        ...
