"""People of a tenant: invited, given another role, disabled, moved, and their work handed over."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from wsi.access import require_administrator, require_operator
from wsi.errors import Forbidden, Invalid
from wsi.ports.administration import Accounts, MemberDirectory
from wsi.records.administration.people import HandedOver, Invitation, Member, SignInAccount
from wsi.records.identity import OPERATORS, Actor, Role

#: As long as the password in Cognito's mail works.
INVITATION_DAYS = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Invited:
    invitation: Invitation
    password: str | None = None  #: for the first sign-in, where no mail brings it: shown once


def choose_tenant(actor: Actor, name: str | None, directory: MemberDirectory) -> UUID:
    """Return the tenant that the actor administers: the own one, or for operators the named one, by default their own.
    Raises Forbidden and NotFound."""
    require_administrator(actor)
    if name is None:
        return actor.tenant
    if actor.role is not Role.OPERATOR:
        raise Forbidden("Only an operator names a tenant; leave it out to administer your own.")
    return directory.find_tenant(actor, name)


def check_role(tenant: UUID, role: Role) -> None:
    """Raise Invalid unless people and keys of this tenant can have the role."""
    if (tenant == OPERATORS) is not (role is Role.OPERATOR):
        raise Invalid("People and keys of the operators' tenant have the role operator, and those of no other tenant.")


def invite(
    actor: Actor,
    tenant_name: str | None,
    email: str,
    role: Role,
    *,
    account: SignInAccount | None,
    directory: MemberDirectory,
    accounts: Accounts | None,
) -> Invited:
    """Invite a person into a tenant. The account is the given one, or one that the sign-in makes; without either, it is
    the first whose issuer vouches for the address."""
    tenant = choose_tenant(actor, tenant_name, directory)
    check_role(tenant, role)
    invitation = directory.add_invitation(actor, tenant, email, role, days=INVITATION_DAYS)
    if account is None and accounts is not None:
        account = accounts.invite(invitation.email)
    if account is not None:
        directory.bind_invitation(actor, invitation.id, account)
    return Invited(invitation=invitation, password=account.password if account is not None else None)


def change(
    actor: Actor,
    member_id: UUID,
    *,
    role: Role | None,
    is_disabled: bool | None,
    directory: MemberDirectory,
    accounts: Accounts | None,
) -> Member:
    """Change a person's role, or disable or enable the person. The ledger decides, and refuses from then on; the
    sign-in follows, and a repeated call reaches one that did not answer."""
    require_administrator(actor)
    if role is None and is_disabled is None:
        raise Invalid("Name a role, or whether the person is disabled.")
    member = directory.change_member(actor, member_id, role=role, is_disabled=is_disabled)
    if accounts is not None and is_disabled is not None:
        (accounts.disable if is_disabled else accounts.enable)(member.subject)
    return member


def move(actor: Actor, member_id: UUID, tenant_name: str, role: Role, *, directory: MemberDirectory) -> Member:
    """Move a person to another tenant."""
    require_operator(actor)
    tenant = directory.find_tenant(actor, tenant_name)
    check_role(tenant, role)
    return directory.move_member(actor, member_id, tenant, role)


def hand_over(actor: Actor, member_id: UUID, to: UUID, *, directory: MemberDirectory) -> HandedOver:
    """Make a person's slides and unfinished jobs another person's of the tenant."""
    require_administrator(actor)
    if member_id == to:
        raise Invalid("Name another person, who takes over.")
    return directory.hand_over(actor, member_id, to)
