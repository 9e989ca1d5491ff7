"""`wsi.ports.administration.Operations` in this process: the handler of `operate`, without Lambda between."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from adapters.operations import make_request, read_answer
from adapters.settings.functions import TIMEOUTS
from lambdas.cold_start import Handler
from local.lambda_context import LambdaContext
from wsi.records.identity import Actor

FUNCTION = "operate"


class OperationsInProcess:
    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def carry_out(self, actor: Actor, action: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        event = json.loads(json.dumps(make_request(actor, action, fields)))  # as Lambda passes it
        return read_answer(self._handler(event, LambdaContext(FUNCTION, TIMEOUTS[FUNCTION])))
