"""HTTP to API Gateway REST (v1) proxy events: the layer between a client and the API's Lambda on AWS."""

from __future__ import annotations

import asyncio
import base64
import fnmatch
import json
import logging
import re
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from http import HTTPStatus
from typing import Any

from aiohttp import web

from adapters.settings.gateway_routes import JOBS_PATH, PICTURE, TILE_PATHS
from adapters.settings.problems import BASE_PATH
from local.lambda_context import LambdaContext

log = logging.getLogger(__name__)

LambdaHandler = Callable[[dict[str, Any], Any], dict[str, Any]]

LARGEST_BODY = 10 * 1024**2  #: bytes, REST API quota
STAGE = "local"
ARN = f"arn:aws:execute-api:local:000000000000:local/{STAGE}"
TEXT = ("text/", "application/json", "application/problem+json", "application/xml", "application/x-www-form-urlencoded")
_OF_TILES = re.compile(f"{BASE_PATH}/(?:" + "|".join(re.sub(r"\{\w+\}", "[^/]+", path) for path in TILE_PATHS) + ")")
_JOBS = re.compile(f"{BASE_PATH}/{JOBS_PATH}/?")


def make_api_app(
    api: LambdaHandler,
    authorizer: LambdaHandler,
    *,
    public_paths: Collection[str],
    page: Callable[[web.Request], web.StreamResponse | None] | None = None,
    tiles: LambdaHandler | None = None,
    submit: LambdaHandler | None = None,
) -> web.Application:
    """Return an app with one `ANY /{proxy+}` behind the authorizer, and next to it GET of what `tiles` answers and
    `POST /jobs` for `submit`. `public_paths` are reached without the authorizer. `page` is asked first, and answers
    what is not the API's, as CloudFront does."""

    async def serve(request: web.Request) -> web.StreamResponse:
        if page and (of_page := page(request)) is not None:
            return of_page
        body = await request.content.read(LARGEST_BODY + 1)
        while len(body) <= LARGEST_BODY and (more := await request.content.read(LARGEST_BODY + 1 - len(body))):
            body += more
        if len(body) > LARGEST_BODY:
            return make_problem(
                413, "request_too_large", "The request is larger than 10 MB; send fewer items at a time."
            )
        context: Mapping[str, Any] | None = None
        if request.path not in public_paths:
            refused, context = await _authorize(request, authorizer)
            if refused is not None:
                return refused
        event = make_proxy_event(request, body, context)
        name, function = "api", api
        if tiles is not None and request.method == "GET" and _OF_TILES.fullmatch(request.path):
            name, function = "tiles", tiles
        if submit is not None and request.method == "POST" and _JOBS.fullmatch(request.path):
            name, function = "submit", submit
        try:
            answer = await asyncio.to_thread(function, event, LambdaContext(name))
            return to_response(answer, accept=request.headers.get("Accept", ""))
        except Exception:
            log.exception("The handler of %s failed.", name)
            return make_problem(502, "bad_gateway", "The service failed to answer; try again in a minute.")

    app = web.Application(client_max_size=LARGEST_BODY + 1)
    app.router.add_route("*", r"/{proxy:[\s\S]*}", serve)
    return app


async def _authorize(
    request: web.Request, authorizer: LambdaHandler
) -> tuple[web.Response | None, Mapping[str, Any] | None]:
    """Return a refusal, or the context that the authorizer gives. As in the gateway, the authorizer is not called for a
    request without its identity source."""
    if not request.headers.get("Authorization"):
        return make_problem(
            401, "unauthenticated", "Sign in, or send the header Authorization with Bearer, a space and an API key."
        ), None
    arn = f"{ARN}/{request.method}{request.path}"
    event = {**make_proxy_event(request, b"", None), "type": "REQUEST", "methodArn": arn}
    try:
        policy = await asyncio.to_thread(authorizer, event, LambdaContext("authorizer"))
    except Exception as error:
        if str(error) == "Unauthorized":
            return make_problem(401, "unauthenticated", "The token or API key is unknown or has expired."), None
        log.exception("The authorizer failed.")
        return make_problem(500, "internal", "Something went wrong on our side; try again in a minute."), None
    if not allows(policy, arn):
        return make_problem(403, "forbidden", "Your account may not use this address."), None
    return None, {**policy.get("context", {}), "principalId": policy["principalId"]}


def allows(policy: Mapping[str, Any], arn: str) -> bool:
    """Return whether a policy allows a call by IAM's rule: a Deny wins, and without an Allow it is refused."""
    effects: set[str] = set()
    for statement in policy["policyDocument"]["Statement"]:
        resources = statement["Resource"]
        for pattern in [resources] if isinstance(resources, str) else resources:
            if fnmatch.fnmatchcase(arn, pattern):
                effects.add(statement["Effect"])
    return effects == {"Allow"}


def make_proxy_event(request: web.Request, body: bytes, authorizer: Mapping[str, Any] | None) -> dict[str, Any]:
    headers: dict[str, list[str]] = {}
    query: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        headers.setdefault(name, []).append(value)
    for name, value in request.query.items():
        query.setdefault(name, []).append(value)
    text = _text(body) if request.content_type.startswith(TEXT) else None
    context: dict[str, Any] = {
        "accountId": "000000000000",
        "apiId": "local",
        "stage": STAGE,
        "requestId": str(uuid.uuid4()),
        "protocol": "HTTP/1.1",
        "httpMethod": request.method,
        "path": request.path,
        "resourcePath": "/{proxy+}",
        "requestTimeEpoch": int(time.time() * 1000),
        "domainName": request.host,
        "identity": {"sourceIp": request.remote, "userAgent": request.headers.get("User-Agent")},
    }
    if authorizer is not None:
        context["authorizer"] = dict(authorizer)
    return {
        "resource": "/{proxy+}",
        "path": request.path,
        "httpMethod": request.method,
        # Of a repeated header or parameter the single-value maps hold the last one.
        "headers": {name: values[-1] for name, values in headers.items()},
        "multiValueHeaders": headers,
        "queryStringParameters": {name: values[-1] for name, values in query.items()} or None,
        "multiValueQueryStringParameters": query or None,
        "pathParameters": {"proxy": request.path.lstrip("/")},
        "stageVariables": None,
        "requestContext": context,
        "body": (base64.b64encode(body).decode() if text is None else text) if body else None,
        "isBase64Encoded": bool(body) and text is None,
    }


def _text(body: bytes) -> str | None:
    """Return the body as text; None if it is not UTF-8, whatever its media type says: it then travels as bytes."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def to_response(answer: Mapping[str, Any], *, accept: str) -> web.Response:
    """Return the HTTP response of a proxy answer. Raises when it is not in the proxy format: API Gateway calls that a
    malformed response, 502. Bytes are returned as such when the first type of `accept` is PICTURE, and else as the
    base64 that they came in."""
    text = answer.get("body") or ""
    wanted = accept.split(",")[0].partition(";")[0].strip() == PICTURE
    as_bytes = wanted and answer.get("isBase64Encoded")
    response = web.Response(
        status=int(answer["statusCode"]),
        body=base64.b64decode(text) if as_bytes else str(text).encode(),
    )
    for name, value in (answer.get("headers") or {}).items():
        response.headers[name] = str(value)
    for name, values in (answer.get("multiValueHeaders") or {}).items():
        response.headers.popall(name, None)
        for value in values:
            response.headers.add(name, str(value))
    return response


def make_problem(status: int, code: str, sentence: str) -> web.Response:
    """Return one of the gateway's own refusals, in the API's form (RFC 9457)."""
    title = HTTPStatus(status).phrase
    body = {"type": f"/problems/{code}", "title": title, "status": status, "detail": sentence}
    return web.Response(status=status, body=json.dumps(body).encode(), content_type="application/problem+json")
