"""Invitations: a person becomes a member at the first sign-in."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Administering, Caller, TenantQuery
from lambdas.schemas.administrators import InvitationAnswer, InvitationList, InvitedAnswer, NewInvitation
from wsi.access import require_administrator
from wsi.administration import people

router = APIGatewayRouter()


@router.get("/admin/invitations", tags=["administration"], summary="The invitations that nobody has accepted yet")
def list_all(caller: Caller, ports: Administering, tenant: TenantQuery = None) -> InvitationList:
    chosen = people.choose_tenant(caller, tenant, ports.directory)
    return InvitationList(items=[InvitationAnswer.of(one) for one in ports.directory.list_invitations(caller, chosen)])


@router.post("/admin/invitations", tags=["administration"], summary="Invite a person", status_code=HTTPStatus.CREATED)
def add(body: NewInvitation, caller: Caller, ports: Administering) -> InvitedAnswer:
    invited = people.invite(
        caller,
        body.tenant,
        body.email,
        body.role,
        account=body.account.to_account() if body.account is not None else None,
        directory=ports.directory,
        accounts=ports.accounts,
    )
    return InvitedAnswer.of_invited(invited)


@router.delete(
    "/admin/invitations/<invitation_id>",
    tags=["administration"],
    summary="Withdraw an invitation",
    status_code=HTTPStatus.NO_CONTENT,
)
def withdraw(invitation_id: UUID, caller: Caller, ports: Administering) -> Response[None]:
    require_administrator(caller)
    ports.directory.withdraw_invitation(caller, invitation_id)
    return Response(status_code=HTTPStatus.NO_CONTENT)
