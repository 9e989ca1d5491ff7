"""The gateway's own error responses, in the shape and wording of the API's problems (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from aws_cdk import aws_apigateway as apigateway

from adapters.settings.problems import MEDIA_TYPE, PROBLEMS

Type = apigateway.ResponseType


@dataclass(frozen=True, kw_only=True, slots=True)
class _GatewayAnswer:
    type: apigateway.ResponseType
    status: int | None  #: None: the gateway chooses among several
    code: str  #: of `type`: /problems/<code>
    detail: str
    retry_after: int | None = None  #: s


_NO_SUCH_ROUTE = "The API has no such address or method; see /openapi.json."
_OURS = "Something went wrong on our side. Try again; if it stays, send us the request id."
ANSWERS = (
    _GatewayAnswer(
        type=Type.UNAUTHORIZED,
        status=401,
        code="unauthenticated",
        detail="Sign in, or send the header Authorization with Bearer, a space and an API key.",
    ),
    _GatewayAnswer(
        type=Type.EXPIRED_TOKEN, status=401, code="unauthenticated", detail="The token has run out; sign in again."
    ),
    _GatewayAnswer(
        type=Type.ACCESS_DENIED, status=403, code="forbidden", detail="This token or key does not open this address."
    ),
    _GatewayAnswer(
        type=Type.WAF_FILTERED,
        status=403,
        code="filtered",
        detail="The firewall took the request for an attack; if it is none, send us the request id.",
    ),
    _GatewayAnswer(type=Type.INVALID_SIGNATURE, status=403, code="forbidden", detail="Requests are not signed here."),
    # The gateway's types for an address that it does not know, without and with a credential.
    _GatewayAnswer(type=Type.MISSING_AUTHENTICATION_TOKEN, status=404, code="no_such_route", detail=_NO_SUCH_ROUTE),
    _GatewayAnswer(type=Type.RESOURCE_NOT_FOUND, status=404, code="no_such_route", detail=_NO_SUCH_ROUTE),
    _GatewayAnswer(
        type=Type.REQUEST_TOO_LARGE,
        status=413,
        code="request_too_large",
        detail="The request is larger than 10 MB; send fewer items at a time.",
    ),
    _GatewayAnswer(
        type=Type.UNSUPPORTED_MEDIA_TYPE,
        status=415,
        code="unsupported_media_type",
        detail="Send the body as application/json.",
    ),
    _GatewayAnswer(
        type=Type.THROTTLED,
        status=429,
        code="too_many_requests",
        detail="Too many requests at once; try again in some seconds.",
        retry_after=5,
    ),
    _GatewayAnswer(type=Type.AUTHORIZER_FAILURE, status=500, code="internal", detail=_OURS),
    _GatewayAnswer(type=Type.AUTHORIZER_CONFIGURATION_ERROR, status=500, code="internal", detail=_OURS),
    _GatewayAnswer(
        type=Type.INTEGRATION_TIMEOUT,
        status=504,
        code="timeout",
        detail="The answer took too long; try again.",
        retry_after=5,
    ),
    _GatewayAnswer(type=Type.INTEGRATION_FAILURE, status=502, code="internal", detail=_OURS, retry_after=5),
    _GatewayAnswer(type=Type.DEFAULT_4_XX, status=None, code="invalid", detail="The request could not be read."),
    _GatewayAnswer(type=Type.DEFAULT_5_XX, status=None, code="internal", detail=_OURS),
)


def add_problem_responses(api: apigateway.RestApi, origins: Sequence[str]) -> None:
    """Add the responses. Pages of the first of `origins` can read them: the gateway cannot choose by the requester."""
    for answer in ANSWERS:
        headers = {"Content-Type": f"'{MEDIA_TYPE}'"}
        if origins:
            headers |= {"Access-Control-Allow-Origin": f"'{origins[0]}'", "Vary": "'Origin'"}
        if answer.retry_after:
            headers["Retry-After"] = f"'{answer.retry_after}'"
        api.add_gateway_response(
            answer.type.response_type,
            type=answer.type,
            status_code=str(answer.status) if answer.status else None,
            response_headers=headers,
            templates={"application/json": _body(answer)},
        )


def _body(answer: _GatewayAnswer) -> str:
    status = {"title": HTTPStatus(answer.status).phrase, "status": answer.status} if answer.status else {}
    said = {"type": f"{PROBLEMS}{answer.code}", **status, "detail": answer.detail}
    return json.dumps({**said, "request_id": "$context.requestId"})
