"""Dead letters, for operators: what could not be delivered, and having it go on."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Administering, Caller
from lambdas.routes.administration.operating import carry_out
from lambdas.schemas.dead_letters import ListDeadLetters, QueueName, RedriveDeadLetters
from lambdas.schemas.operations import DeadLetterList

router = APIGatewayRouter()


@router.get("/admin/dead-letters", tags=["administration"], summary="Dead letters that wait for an operator")
def list_open(
    caller: Caller,
    ports: Administering,
    queue: Annotated[QueueName | None, Query(description="Of this queue alone.")] = None,
) -> DeadLetterList:
    return DeadLetterList(
        items=carry_out(caller, "list_dead_letters", ListDeadLetters(queue=queue), ports)["dead_letters"]
    )


@router.post("/admin/dead-letters/redrive", tags=["administration"], summary="Have what they were about go on, once")
def redrive(body: RedriveDeadLetters, caller: Caller, ports: Administering) -> DeadLetterList:
    return DeadLetterList(items=carry_out(caller, "redrive", body, ports)["redriven"])
