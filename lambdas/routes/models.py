"""Models of a tenant and of the installation: list and get, and for admins: add a version, choose the default one."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Caller, Cursor, Limit, Trace, Wiring
from lambdas.schemas.common import STORABLE
from lambdas.schemas.models import DefaultVersion, ModelAnswer, ModelList, ModelVersionAnswer, NewModelVersion
from lambdas.schemas.uploads import GrantedPart, GrantedParts, PartsToUpload, StoredParts, read_part_cursor
from lambdas.wiring import ApiWiring
from wsi.models import registering
from wsi.models.versions import list_models
from wsi.records.identity import Actor
from wsi.records.registrations import Registration
from wsi.states import RegistrationState

router = APIGatewayRouter()

Name = Annotated[str, Path(max_length=100, description="Of the model."), STORABLE]
Version = Annotated[str, Path(max_length=100, description="Of the model."), STORABLE]


@router.get("/models", tags=["models"], summary="Your tenant's model versions and the installation's")
def list_all(caller: Caller, wiring: Wiring, cursor: Cursor = None, limit: Limit = 50) -> ModelList:
    return ModelList.of(list_models(caller, cursor=cursor, limit=limit, ledger=wiring.ledger))


@router.get("/models/<name>", tags=["models"], summary="One model")
def get(
    name: str,
    caller: Caller,
    wiring: Wiring,
    version: Annotated[
        str | None, Query(max_length=100, description="Without it, the default version."), STORABLE
    ] = None,
) -> ModelAnswer:
    return ModelAnswer.of(wiring.ledger.get_model(caller, name, version))


@router.put("/models/<name>/default", tags=["models"], summary="Choose the version of your model that jobs take")
def choose(name: Name, body: DefaultVersion, caller: Caller, wiring: Wiring) -> ModelAnswer:
    return ModelAnswer.of(registering.choose_default(caller, name, body.version, ledger=wiring.ledger))


@router.put("/models/<name>/versions/<version>", tags=["models"], summary="Add a version, or go on with adding it")
def add(name: Name, version: Version, body: NewModelVersion, caller: Caller, wiring: Wiring) -> ModelVersionAnswer:
    registration = registering.open_registration(
        caller,
        name,
        version,
        [file.to_request() for file in body.files],
        becomes_default=body.default,
        ledger=wiring.ledger,
        packages=wiring.packages,
    )
    return _answer(caller, registration, wiring)


@router.get("/models/<name>/versions/<version>", tags=["models"], summary="How a version stands")
def get_version(name: Name, version: Version, caller: Caller, wiring: Wiring) -> ModelVersionAnswer:
    registration = registering.find_registration(caller, name, version, ledger=wiring.ledger)
    if registration is None:
        return ModelVersionAnswer.of_ready(wiring.ledger.get_model(caller, name, version))
    return _answer(caller, registration, wiring)


@router.post("/models/<name>/versions/<version>/parts", tags=["models"], summary="URLs for up to 100 parts")
def grant(name: Name, version: Version, body: PartsToUpload, caller: Caller, wiring: Wiring) -> GrantedParts:
    asked = [part.to_request() for part in body.parts]
    granted = registering.grant_package_parts(
        caller, name, version, asked, ledger=wiring.ledger, packages=wiring.packages
    )
    return GrantedParts(parts=[GrantedPart.of(part) for part in granted])


@router.get("/models/<name>/versions/<version>/parts", tags=["models"], summary="The parts that have arrived")
def stored(
    name: Name, version: Version, caller: Caller, wiring: Wiring, cursor: Cursor = None, limit: Limit = 100
) -> StoredParts:
    held, following = registering.list_stored_package_parts(
        caller,
        name,
        version,
        after=read_part_cursor(cursor),
        limit=limit,
        ledger=wiring.ledger,
        packages=wiring.packages,
    )
    return StoredParts.of(held, following)


@router.post("/models/<name>/versions/<version>/complete", tags=["models"], summary="Have the package tried")
def complete(name: Name, version: Version, caller: Caller, trace: Trace, wiring: Wiring) -> ModelVersionAnswer:
    registration = registering.complete_registration(
        caller,
        name,
        version,
        ledger=wiring.ledger,
        packages=wiring.packages,
        queues=wiring.queues,
        traceparent=trace,
    )
    return _answer(caller, registration, wiring)


def _answer(caller: Actor, registration: Registration, wiring: ApiWiring) -> ModelVersionAnswer:
    """Return the registration, and the model version that it became."""
    if registration.state is not RegistrationState.READY:
        return ModelVersionAnswer.of(registration)
    return ModelVersionAnswer.of(registration, wiring.ledger.get_model(caller, registration.name, registration.version))
