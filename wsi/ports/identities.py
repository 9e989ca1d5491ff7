"""The identities behind tokens and keys."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from wsi.ports.audit import SignInAudit
from wsi.records.identity import Actor, Membership


class Identities(SignInAudit, Protocol):
    """The queries of the authorizer."""

    def find_user(self, issuer: str, subject: str) -> Actor | None:
        """Return the person behind a verified token; None if unknown or disabled."""
        ...

    def admit_member(self, issuer: str, subject: str, membership: Membership) -> Actor | None:
        """Return the person behind a verified token of single sign-on, whom this adds, or gives the role that the token
        says unless a newer one has spoken. None if disabled, if of another tenant, or if there is no such tenant."""
        ...

    def find_api_key(self, prefix: str, secret_sha256: str) -> Actor | None:
        """Return the service behind a key "tsk_<prefix>_<secret>"; None if the key is unknown, revoked or expired, or
        has another secret. The key's last use is recorded, to the hour."""
        ...

    def accept_invitation(self, issuer: str, subject: str, email: str | None) -> Actor | None:
        """Accept the invitation of a person who signs in for the first time: of this account, or of the address
        `email`, for which the issuer vouches. Return the person; None if there is no invitation."""
        ...

    def is_suspended(self, tenant: UUID) -> bool: ...
