"""Ports of administration: who belongs to a tenant, their accounts at the sign-in, and the owner's actions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from wsi.records.administration.keys import StoredKey
from wsi.records.administration.people import HandedOver, Invitation, Member, SignInAccount
from wsi.records.identity import Actor, Role
from wsi.records.quotas import Quotas


class MemberDirectory(Protocol):
    """The people, invitations and keys of tenants.

    Every call asks the database what the actor is now: an admin of a tenant finds what is in that tenant, an operator
    everything, and anybody else gets Forbidden. What an admin does not administer raises NotFound. Each change is
    written into the audit log of the tenant; one that would remove the last admin raises Conflict. Repeating a change
    changes nothing, except where a key is made.
    """

    def find_tenant(self, actor: Actor, name: str) -> UUID:
        """Return the id of a tenant. Raises NotFound."""
        ...

    def list_members(self, actor: Actor, tenant: UUID) -> tuple[Member, ...]:
        """List the people of a tenant, those who are disabled too, by address."""
        ...

    def list_invitations(self, actor: Actor, tenant: UUID) -> tuple[Invitation, ...]:
        """List the invitations that can still be accepted, by address."""
        ...

    def add_invitation(self, actor: Actor, tenant: UUID, email: str, role: Role, *, days: float) -> Invitation:
        """Invite a person. An earlier invitation of the same address is withdrawn. Raises Conflict for a member."""
        ...

    def bind_invitation(self, actor: Actor, invitation: UUID, account: SignInAccount) -> None:
        """Let this account alone accept the invitation. Raises Conflict if the account belongs to a tenant."""
        ...

    def withdraw_invitation(self, actor: Actor, invitation: UUID) -> None: ...

    def change_member(
        self, actor: Actor, member: UUID, *, role: Role | None = None, is_disabled: bool | None = None
    ) -> Member:
        """Change a person's role, or whether the person may sign in."""
        ...

    def move_member(self, actor: Actor, member: UUID, tenant: UUID, role: Role) -> Member:
        """Move a person to another tenant, which takes an operator. Slides and jobs stay with the tenant."""
        ...

    def hand_over(self, actor: Actor, member: UUID, to: UUID) -> HandedOver:
        """Make a person's slides and unfinished jobs another person's of the same tenant. Raises Conflict unless the
        other may start jobs."""
        ...

    def list_keys(self, actor: Actor, tenant: UUID) -> tuple[StoredKey, ...]:
        """List the keys of a tenant, those that no longer work too, by name and age."""
        ...

    def add_key(
        self, actor: Actor, tenant: UUID, name: str, role: Role, key: str, *, expires_at: datetime | None
    ) -> StoredKey:
        """Store a new key, of which the secret's digest is kept. Raises Conflict while a key of this name works, and
        Forbidden if the actor's own key expires before."""
        ...

    def rotate_key(self, actor: Actor, key_id: UUID, key: str, *, hours: float) -> StoredKey:
        """Store the successor of a working key, of the same name, role and expiry. The old one works for `hours`."""
        ...

    def expire_key(self, actor: Actor, key_id: UUID, expires_at: datetime | None) -> StoredKey:
        """Set when a working key expires; None: never."""
        ...

    def revoke_key(self, actor: Actor, key_id: UUID) -> StoredKey: ...

    def get_own_quotas(self, actor: Actor) -> Quotas:
        """Return the quotas that hold for the actor's tenant."""
        ...


class Accounts(Protocol):
    """The accounts at the sign-in of the installation, by `sub`. They raise SourceUnavailable if it does not answer."""

    def invite(self, email: str) -> SignInAccount:
        """Make an account and have its owner told, or send the mail of an account again that nobody has used yet."""
        ...

    def disable(self, subject: str) -> None:
        """End the account's sessions, and let nobody sign in to it."""
        ...

    def enable(self, subject: str) -> None: ...


class Operations(Protocol):
    """The owner's actions, which run where the owner's rights are."""

    def carry_out(self, actor: Actor, action: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out one action of `lambdas/schemas/administration.py` for an operator, and return its answer. Raises
        RequestError with the reason if it is refused, and SourceUnavailable."""
        ...
