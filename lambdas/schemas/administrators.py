"""People, invitations, keys, tenants and quotas, as admins and operators send and see them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AwareDatetime, Field

from lambdas.schemas.common import STORABLE, Answer, Body, Email
from wsi.administration.keys import NewKey
from wsi.administration.people import Invited
from wsi.records.administration.keys import StoredKey
from wsi.records.administration.people import Invitation, Member, SignInAccount
from wsi.records.identity import Role
from wsi.records.jobs import Priority

_NAME = Field(min_length=1, max_length=100)
TenantChoice = Annotated[
    str | None, _NAME, Field(description="For operators: the tenant's name. Left out, it is your own."), STORABLE
]
AskedRole = Annotated[Role, Field(description="operator is for the operators' tenant alone.")]


class PersonAnswer(Answer):
    person_id: UUID
    email: str | None
    role: Role
    disabled: bool = Field(description="Refused since `disabled_at`.")
    disabled_at: datetime | None
    created_at: datetime

    @staticmethod
    def of(member: Member) -> PersonAnswer:
        return PersonAnswer(
            person_id=member.id,
            email=member.email,
            role=member.role,
            disabled=member.disabled_at is not None,
            disabled_at=member.disabled_at,
            created_at=member.created_at,
        )


class PersonList(Answer):
    items: list[PersonAnswer]


class PersonChange(Body):
    role: AskedRole | None = None
    disabled: bool | None = Field(default=None, description="true: sessions end, and the person is refused.")


class PersonMove(Body):
    tenant: Annotated[str, _NAME, Field(description="The tenant that the person belongs to from now on."), STORABLE]
    role: AskedRole


class Taker(Body):
    to: UUID = Field(description="The `person_id` of the one who takes over: an analyst or admin of the same tenant.")


class HandedOverAnswer(Answer):
    slides: int
    jobs: int = Field(description="That had not ended. Finished jobs still name who requested them.")


class AccountOfPerson(Body):
    """An account at a sign-in that Tessera does not manage."""

    issuer: Annotated[str, Field(min_length=1, max_length=500, description="`iss` of the person's tokens."), STORABLE]
    subject: Annotated[str, Field(min_length=1, max_length=500, description="`sub` of the person's tokens."), STORABLE]

    def to_account(self) -> SignInAccount:
        return SignInAccount(issuer=self.issuer, subject=self.subject)


class NewInvitation(Body):
    email: Email = Field(description="Where the mail goes, and what others of the tenant see.")
    role: AskedRole
    account: AccountOfPerson | None = Field(
        default=None, description="The account that may accept; left out, the sign-in makes one or vouches for `email`."
    )
    tenant: TenantChoice = None


class InvitationAnswer(Answer):
    invitation_id: UUID
    email: str
    role: Role
    expires_at: datetime
    created_at: datetime

    @staticmethod
    def of(invitation: Invitation) -> InvitationAnswer:
        return InvitationAnswer(**_describe_invitation(invitation))


class InvitationList(Answer):
    items: list[InvitationAnswer]


class InvitedAnswer(InvitationAnswer):
    password: str | None = Field(description="For the first sign-in, where no mail brings it. It is shown once.")

    @staticmethod
    def of_invited(invited: Invited) -> InvitedAnswer:
        return InvitedAnswer(**_describe_invitation(invited.invitation), password=invited.password)


class KeyAnswer(Answer):
    key_id: UUID
    name: str
    prefix: str = Field(description="The key begins with tsk_<prefix>_.")
    role: Role
    works: bool = Field(description="Neither revoked nor expired.")
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the hour; null: never.")

    @staticmethod
    def of(key: StoredKey) -> KeyAnswer:
        return KeyAnswer(**_describe_key(key))


class KeyList(Answer):
    items: list[KeyAnswer]


class NewKeyRequest(Body):
    name: Annotated[str, _NAME, Field(description="What lists and jobs call the key."), STORABLE]
    role: AskedRole
    expires_at: AwareDatetime | None = Field(default=None, description="Left out, the key does not expire.")
    tenant: TenantChoice = None


class NewKeyAnswer(KeyAnswer):
    key: str = Field(description="The key. Nobody can read it again.")

    @staticmethod
    def of_new(made: NewKey) -> NewKeyAnswer:
        return NewKeyAnswer(**_describe_key(made.stored), key=made.key)


class KeyRotation(Body):
    hours: float = Field(default=24, ge=0, le=720, description="How long the old key works on.")


class KeyExpiry(Body):
    expires_at: AwareDatetime | None = Field(description="null: the key does not expire.")


class TenantAnswer(Answer):
    id: UUID
    name: str
    users: int = Field(description="People who may sign in.")
    keys: int = Field(description="Keys that work.")
    is_suspended: bool


class TenantList(Answer):
    items: list[TenantAnswer]


class NewTenantAnswer(Answer):
    tenant: UUID


class RenamedAnswer(Answer):
    name: str


class SuspensionAnswer(Answer):
    suspended: bool


class RegisteredModelAnswer(Answer):
    model: str
    version: str
    digest: str


class QuotasAnswer(Answer):
    """The quotas that hold for the tenant. null: no limit."""

    tiles_a_day: int | None = Field(description="Of the jobs that are requested on a day in UTC.")
    bytes_stored: int | None = Field(description="Of uploaded slides that are not deleted.")
    uploads_open: int | None
    jobs_waiting: int | None = Field(description="That no worker has begun.")
    top_priority: Priority | None = Field(description="The most urgent that members may ask for.")
    dollars_a_month: float | None = Field(description="The budget: of workers' time in a month of UTC.")
    stops_at_budget: bool | None = Field(description="New jobs are refused once the month's budget is used.")


def _describe_invitation(invitation: Invitation) -> dict[str, Any]:
    return {
        "invitation_id": invitation.id,
        "email": invitation.email,
        "role": invitation.role,
        "expires_at": invitation.expires_at,
        "created_at": invitation.created_at,
    }


def _describe_key(key: StoredKey) -> dict[str, Any]:
    return {
        "key_id": key.id,
        "name": key.name,
        "prefix": key.prefix,
        "role": key.role,
        "works": key.works,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
    }
