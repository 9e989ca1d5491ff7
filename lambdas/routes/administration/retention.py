"""Periods of retention, for operators: after how many days the sweep deletes."""

# Powertools types its contexts as bare dicts.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Administering, Caller, NamedTenant
from lambdas.routes.administration.operating import carry_out
from lambdas.schemas.administration import GetRetention, SetRetention
from lambdas.schemas.operations import RetentionAnswer

router = APIGatewayRouter()


@router.get("/admin/retention", tags=["administration"], summary="How long a tenant's slides and results are kept")
def get(caller: Caller, ports: Administering, tenant: NamedTenant) -> RetentionAnswer:
    return RetentionAnswer(**carry_out(caller, "get_retention", GetRetention(tenant=tenant), ports)["retention"])


@router.patch("/admin/retention", tags=["administration"], summary="Set how long; what is older is deleted at once")
def change(body: SetRetention, caller: Caller, ports: Administering) -> RetentionAnswer:
    return RetentionAnswer(**carry_out(caller, "set_retention", body, ports)["retention"])
