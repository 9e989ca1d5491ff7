"""Parts of a request that any route may need: the caller, the trace, the ports."""

# Annotations are no strings here: Powertools evaluates those of a route and of what it depends on at each request.

import json
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.depends import Depends
from aws_lambda_powertools.event_handler.openapi.params import Header, Query

from lambdas.http.rest_events import TRACEPARENT, read_actor
from lambdas.schemas.common import STORABLE
from lambdas.wiring import AdministrationPorts, ApiWiring, SubmitWiring
from wsi.errors import Invalid, NotFound
from wsi.records.identity import Actor

WIRING = "wiring"  #: key of the resolver's context, set anew for each request


def get_wiring(request: Request) -> ApiWiring:
    return request.context[WIRING]


def get_traceparent(request: Request) -> str:
    return request.context[TRACEPARENT]


def get_actor(request: Request) -> Actor:
    """Return the caller. Raises Unauthenticated."""
    return read_actor(request.resolved_event.raw_event)


def read_json(text: str) -> Any:
    """Read a body. Raises JSONDecodeError, and Invalid for JSON that nests too deeply or holds too long a number."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        raise Invalid("The body nests too deeply, or holds a number of too many digits.") from error


def get_administration(request: Request) -> AdministrationPorts:
    """Return the ports of administration. Raises NotFound where the API does not serve it."""
    found = get_wiring(request).administration
    if found is None:
        raise NotFound("This installation's API serves no administration.")
    return found


def get_submit_wiring(request: Request) -> SubmitWiring:
    return request.context[WIRING]


Wiring = Annotated[ApiWiring, Depends(get_wiring)]
Submitting = Annotated[SubmitWiring, Depends(get_submit_wiring)]
Administering = Annotated[AdministrationPorts, Depends(get_administration)]
Caller = Annotated[Actor, Depends(get_actor)]
Trace = Annotated[str, Depends(get_traceparent)]

TenantQuery = Annotated[
    str | None,
    Query(min_length=1, max_length=100, description="For operators: the tenant's name. Left out, it is your own."),
    STORABLE,
]
NamedTenant = Annotated[str, Query(min_length=1, max_length=100, description="The tenant's name."), STORABLE]
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
