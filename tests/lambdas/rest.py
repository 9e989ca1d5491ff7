"""Calls the API's handler as API Gateway does: REST v1 proxy events, with what the authorizer found."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lambdas import api, submit
from lambdas.cold_start import Handler
from lambdas.wiring import ApiWiring
from wsi.records.identity import Actor

BASE = "/api/v1/wsi"


def whole_handler(wiring: ApiWiring) -> Handler:
    """Return a handler that hands each request to the function that the gateway would."""
    others, new_jobs = api.make_handler(wiring), submit.make_handler(wiring)

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        is_new_job = (event["httpMethod"], event["path"].rstrip("/")) == ("POST", f"{BASE}/jobs")
        return (new_jobs if is_new_job else others)(event, context)

    return handle


def rest_event(
    method: str,
    path: str,
    *,
    body: Any = None,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    actor: Actor | None = None,
) -> dict[str, Any]:
    sent = {"Content-Type": "application/json", **(headers or {})}
    authorizer = (
        {"tenant": str(actor.tenant), "subject": actor.subject, "role": actor.role.value, "principalId": actor.subject}
        if actor
        else None
    )
    return {
        "resource": "/{proxy+}",
        "path": path,
        "httpMethod": method,
        "headers": sent,
        "multiValueHeaders": {name: [value] for name, value in sent.items()},
        "queryStringParameters": dict(query) if query else None,
        "multiValueQueryStringParameters": {name: [value] for name, value in query.items()} if query else None,
        "pathParameters": {"proxy": path.lstrip("/")},
        "stageVariables": None,
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "stage": "v1",
            "requestId": str(uuid.uuid4()),
            "httpMethod": method,
            "path": f"/v1{path}",
            "resourcePath": "/{proxy+}",
            "identity": {"sourceIp": "127.0.0.1"},
            **({"authorizer": authorizer} if authorizer else {}),
        },
        "isBase64Encoded": False,
        "body": body if body is None or isinstance(body, str) else json.dumps(body),
    }


@dataclass(frozen=True)
class Reply:
    status: int
    body: Any
    media_type: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Caller:
    """One person or service at the API."""

    handler: Callable[[dict[str, Any], Any], dict[str, Any]]
    actor: Actor | None

    def __call__(self, method: str, path: str, body: Any = None, **how: Any) -> Reply:
        event = rest_event(method, BASE + path, body=body, actor=self.actor, **how)
        answer = self.handler(event, None)
        headers = {name.lower(): values[0] for name, values in (answer.get("multiValueHeaders") or {}).items()}
        text = answer.get("body")
        media_type = headers.get("content-type", "")
        read = text if media_type.startswith("text/") else json.loads(text) if text else None
        return Reply(answer["statusCode"], read, media_type, headers)
