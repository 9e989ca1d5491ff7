"""API keys of a tenant: list, make, rotate, expire, revoke."""

# Powertools types its contexts as bare dicts.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Administering, Caller, TenantQuery, Wiring
from lambdas.schemas.administrators import KeyAnswer, KeyExpiry, KeyList, KeyRotation, NewKeyAnswer, NewKeyRequest
from wsi.access import require_administrator
from wsi.administration import keys
from wsi.administration.people import choose_tenant

router = APIGatewayRouter()


@router.get("/admin/keys", tags=["administration"], summary="The API keys of a tenant, and when each was last used")
def list_all(caller: Caller, ports: Administering, tenant: TenantQuery = None) -> KeyList:
    chosen = choose_tenant(caller, tenant, ports.directory)
    return KeyList(items=[KeyAnswer.of(one) for one in ports.directory.list_keys(caller, chosen)])


@router.post(
    "/admin/keys", tags=["administration"], summary="Make a key, which is shown once", status_code=HTTPStatus.CREATED
)
def add(body: NewKeyRequest, caller: Caller, ports: Administering, wiring: Wiring) -> NewKeyAnswer:
    made = keys.add(
        caller,
        body.tenant,
        body.name,
        body.role,
        expires_at=body.expires_at,
        now=wiring.clock(),
        directory=ports.directory,
    )
    return NewKeyAnswer.of_new(made)


@router.post(
    "/admin/keys/<key_id>/rotate",
    tags=["administration"],
    summary="Make a key's successor; the old one works on for some hours",
    status_code=HTTPStatus.CREATED,
)
def rotate(key_id: UUID, body: KeyRotation, caller: Caller, ports: Administering) -> NewKeyAnswer:
    return NewKeyAnswer.of_new(keys.rotate(caller, key_id, hours=body.hours, directory=ports.directory))


@router.patch("/admin/keys/<key_id>", tags=["administration"], summary="Set when a key expires")
def expire(key_id: UUID, body: KeyExpiry, caller: Caller, ports: Administering, wiring: Wiring) -> KeyAnswer:
    return KeyAnswer.of(keys.expire(caller, key_id, body.expires_at, now=wiring.clock(), directory=ports.directory))


@router.delete("/admin/keys/<key_id>", tags=["administration"], summary="Revoke a key")
def revoke(key_id: UUID, caller: Caller, ports: Administering) -> KeyAnswer:
    require_administrator(caller)
    return KeyAnswer.of(ports.directory.revoke_key(caller, key_id))
