"""The caller's identity and role: what a page may offer depends on the role."""

from __future__ import annotations

from aws_lambda_powertools.event_handler.router import APIGatewayRouter
from pydantic import Field

from lambdas.http.requests import Caller, Wiring
from lambdas.schemas.common import Answer
from wsi.records.identity import Role

router = APIGatewayRouter()


class MeAnswer(Answer):
    tenant: str = Field(description="The id of the organisation whose slides and jobs the caller sees.")
    subject: str = Field(description="As the audit log names the caller: user:… or key:….")
    name: str | None = Field(description="The person's e-mail address, or the key's name, if it is known.")
    role: Role = Field(
        description="viewer reads; analyst also uploads, analyses and deletes; admin everything of the tenant. "
        "operator administers tenants and has no slides."
    )


@router.get("/me", tags=["me"], summary="Who is calling, and in which role")
def me(caller: Caller, wiring: Wiring) -> MeAnswer:
    names = wiring.ledger.list_names(caller, {caller.subject})
    return MeAnswer(tenant=str(caller.tenant), subject=caller.subject, name=names.get(caller.subject), role=caller.role)
