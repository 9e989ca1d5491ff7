"""Models: list and get."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.requests import Caller, Cursor, Limit, Wiring
from lambdas.schemas.common import STORABLE
from lambdas.schemas.models import ModelAnswer, ModelList
from wsi.models import list_models

router = APIGatewayRouter()


@router.get("/models", tags=["models"], summary="All model versions")
def list_all(caller: Caller, wiring: Wiring, cursor: Cursor = None, limit: Limit = 50) -> ModelList:
    return ModelList.of(list_models(cursor=cursor, limit=limit, ledger=wiring.ledger))


@router.get("/models/<name>", tags=["models"], summary="One model")
def get(
    name: str,
    caller: Caller,
    wiring: Wiring,
    version: Annotated[
        str | None, Query(max_length=100, description="Without it, the default version."), STORABLE
    ] = None,
) -> ModelAnswer:
    return ModelAnswer.of(wiring.ledger.model(name, version))
