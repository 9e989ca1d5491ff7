"""Quotas: an admin reads those of the own tenant, an operator reads and sets those of all."""

# Powertools types its contexts as bare dicts.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import asdict

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Administering, Caller, TenantQuery
from lambdas.routes.administration.operating import carry_out
from lambdas.schemas.administration import SetQuotas, TenantOrAll
from lambdas.schemas.administrators import QuotasAnswer
from wsi.access import require
from wsi.records.identity import Role

router = APIGatewayRouter()


@router.get("/admin/quotas", tags=["administration"], summary="The quotas of a tenant; for operators also those of all")
def get(caller: Caller, ports: Administering, tenant: TenantQuery = None) -> QuotasAnswer:
    if caller.role is Role.OPERATOR or tenant is not None:
        return QuotasAnswer(**carry_out(caller, "get_quotas", TenantOrAll(tenant=tenant), ports)["quotas"])
    require(caller, Role.ADMIN)
    return QuotasAnswer(**asdict(ports.directory.get_own_quotas(caller)))


@router.patch("/admin/quotas", tags=["administration"], summary="Set quotas of a tenant, or of all")
def change(body: SetQuotas, caller: Caller, ports: Administering) -> QuotasAnswer:
    return QuotasAnswer(**carry_out(caller, "set_quotas", body, ports)["quotas"])
