"""Sources of tenants, for operators: where slides by reference may lie."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Administering, Caller, NamedTenant
from lambdas.routes.administration.operating import carry_out
from lambdas.schemas.administration import AddSource, ListSources, RemoveSource
from lambdas.schemas.operations import RemovedSourceAnswer, SourceAnswer, SourceList

router = APIGatewayRouter()


@router.get("/admin/sources", tags=["administration"], summary="The sources of a tenant")
def list_all(caller: Caller, ports: Administering, tenant: NamedTenant) -> SourceList:
    return SourceList(items=carry_out(caller, "list_sources", ListSources(tenant=tenant), ports)["sources"])


@router.post(
    "/admin/sources",
    tags=["administration"],
    summary="Let a tenant register and read the objects of a bucket or prefix",
    status_code=HTTPStatus.CREATED,
)
def add(body: AddSource, caller: Caller, ports: Administering) -> SourceAnswer:
    carry_out(caller, "add_source", body, ports)
    return SourceAnswer(bucket=body.bucket, prefix=body.prefix)


@router.post(
    "/admin/sources/remove", tags=["administration"], summary="Remove a source; its slides can be read no more"
)
def remove(body: RemoveSource, caller: Caller, ports: Administering) -> RemovedSourceAnswer:
    return RemovedSourceAnswer(**carry_out(caller, "remove_source", body, ports))
