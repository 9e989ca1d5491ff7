"""`wsi.ports.administration.Operations` by the function `operate`, which has the owner's rights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from adapters.aws_clients import AwsClients
from wsi.errors import Conflict, Forbidden, Invalid, LedgerUnavailable, NotFound, SourceUnavailable, TesseraError
from wsi.records.identity import Actor

_KINDS: dict[str, type[TesseraError]] = {
    kind.code: kind for kind in (Conflict, Forbidden, Invalid, LedgerUnavailable, NotFound)
}


def make_request(actor: Actor, action: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event of `operate`."""
    return {"operator": actor.subject, "action": {action: dict(fields)}}


def read_answer(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of `operate`. Raises what it was refused for."""
    if "error" in answer:
        raise _KINDS.get(answer["code"], Conflict)(answer["error"])
    return answer


class LambdaOperations:
    """Operations by a function. `function`: name or ARN of `operate`."""

    def __init__(self, clients: AwsClients, function: str) -> None:
        self._clients = clients
        self._function = function

    def carry_out(self, actor: Actor, action: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        payload = json.dumps(make_request(actor, action, fields)).encode()
        try:
            answer = self._clients.get_client("lambda").invoke(FunctionName=self._function, Payload=payload)
            answered = answer["Payload"].read()
        except (ClientError, BotoCoreError) as error:
            raise SourceUnavailable("The function for operators cannot be called; try again in a minute.") from error
        if "FunctionError" in answer:
            raise SourceUnavailable("The function for operators failed; try again, and see its log if it fails again.")
        return read_answer(json.loads(answered))


class NoOperations:
    """An installation whose API was given no such function."""

    def carry_out(self, actor: Actor, action: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        raise Conflict("This installation's API carries out no actions of operators; use administer instead.")
