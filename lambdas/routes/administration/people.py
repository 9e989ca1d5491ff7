"""People of a tenant: list, another role, disable, enable, move, hand over."""

# Powertools types its contexts as bare dicts.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from uuid import UUID

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Administering, Caller, TenantQuery
from lambdas.schemas.administrators import HandedOverAnswer, PersonAnswer, PersonChange, PersonList, PersonMove, Taker
from wsi.administration import people

router = APIGatewayRouter()


@router.get("/admin/people", tags=["administration"], summary="The people of a tenant")
def list_all(caller: Caller, ports: Administering, tenant: TenantQuery = None) -> PersonList:
    chosen = people.choose_tenant(caller, tenant, ports.directory)
    return PersonList(items=[PersonAnswer.of(one) for one in ports.directory.list_members(caller, chosen)])


@router.patch("/admin/people/<person_id>", tags=["administration"], summary="Another role; disable or enable")
def change(person_id: UUID, body: PersonChange, caller: Caller, ports: Administering) -> PersonAnswer:
    changed = people.change(
        caller,
        person_id,
        role=body.role,
        is_disabled=body.disabled,
        directory=ports.directory,
        accounts=ports.accounts,
    )
    return PersonAnswer.of(changed)


@router.post("/admin/people/<person_id>/move", tags=["administration"], summary="Move a person to another tenant")
def move(person_id: UUID, body: PersonMove, caller: Caller, ports: Administering) -> PersonAnswer:
    return PersonAnswer.of(people.move(caller, person_id, body.tenant, body.role, directory=ports.directory))


@router.post(
    "/admin/people/<person_id>/hand-over",
    tags=["administration"],
    summary="Make a person's slides and unfinished jobs another person's",
)
def hand_over(person_id: UUID, body: Taker, caller: Caller, ports: Administering) -> HandedOverAnswer:
    done = people.hand_over(caller, person_id, body.to, directory=ports.directory)
    return HandedOverAnswer(slides=done.slides, jobs=done.jobs)
