"""Tenants, for operators: list, create, rename, suspend, resume."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Administering, Caller
from lambdas.routes.administration.operating import carry_out
from lambdas.schemas.administration import AddTenant, ListTenants, RenameTenant, ResumeTenant, SuspendTenant
from lambdas.schemas.administrators import NewTenantAnswer, RenamedAnswer, SuspensionAnswer, TenantList

router = APIGatewayRouter()


@router.get("/admin/tenants", tags=["administration"], summary="All tenants")
def list_all(caller: Caller, ports: Administering) -> TenantList:
    return TenantList(items=carry_out(caller, "list_tenants", ListTenants(), ports)["tenants"])


@router.post("/admin/tenants", tags=["administration"], summary="Create a tenant", status_code=HTTPStatus.CREATED)
def add(body: AddTenant, caller: Caller, ports: Administering) -> NewTenantAnswer:
    return NewTenantAnswer(**carry_out(caller, "add_tenant", body, ports))


@router.post("/admin/tenants/rename", tags=["administration"], summary="Give a tenant another name")
def rename(body: RenameTenant, caller: Caller, ports: Administering) -> RenamedAnswer:
    return RenamedAnswer(**carry_out(caller, "rename_tenant", body, ports))


@router.post("/admin/tenants/suspend", tags=["administration"], summary="Refuse a tenant's people and keys")
def suspend(body: SuspendTenant, caller: Caller, ports: Administering) -> SuspensionAnswer:
    return SuspensionAnswer(**carry_out(caller, "suspend_tenant", body, ports))


@router.post("/admin/tenants/resume", tags=["administration"], summary="Let a suspended tenant resume")
def resume(body: ResumeTenant, caller: Caller, ports: Administering) -> SuspensionAnswer:
    return SuspensionAnswer(**carry_out(caller, "resume_tenant", body, ports))
