"""What a route takes from its request besides its own parameters: the caller, the trace, the ports."""

from __future__ import annotations

import json
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.depends import Depends
from aws_lambda_powertools.event_handler.openapi.params import Header, Query

from lambdas.rest_events import TRACEPARENT, actor_in
from lambdas.schemas.common import STORABLE
from lambdas.wiring import ApiWiring
from wsi.errors import Invalid
from wsi.records.identity import Actor

WIRING = "wiring"  #: key of the resolver's context, set anew for each request


def wiring_of(request: Request) -> ApiWiring:
    return request.context[WIRING]


def traceparent_of(request: Request) -> str:
    return request.context[TRACEPARENT]


def actor_of(request: Request) -> Actor:
    """Raises Unauthenticated."""
    return actor_in(request.resolved_event.raw_event)


def read_json(text: str) -> Any:
    """Raises JSONDecodeError, and Invalid for what is JSON and yet can not be read."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        raise Invalid("The body nests too deeply, or holds a number of too many digits.") from error


Wiring = Annotated[ApiWiring, Depends(wiring_of)]
Caller = Annotated[Actor, Depends(actor_of)]
Trace = Annotated[str, Depends(traceparent_of)]

Cursor = Annotated[str | None, Query(max_length=4096, description="`next_cursor` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=100, description="Most items of the page.")]
Search = Annotated[str | None, Query(max_length=200, description="Text to look for."), STORABLE]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="The same key with the same body gives the first answer again; with another body, 409.",
    ),
]
