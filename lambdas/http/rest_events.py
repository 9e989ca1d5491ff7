"""The caller and the trace of a gateway event, read without the resolver that the API's many routes need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from wsi.errors import Unauthenticated
from wsi.records.identity import Actor, Role
from wsi.tracing import continue_trace

TRACEPARENT = "traceparent"


def read_actor(event: Mapping[str, Any]) -> Actor:
    """Return the caller that our authorizer found. Raises Unauthenticated when the gateway let the request in without
    it."""
    found: Mapping[str, Any] = event["requestContext"].get("authorizer") or {}
    if not {"tenant", "subject", "role"} <= found.keys():
        raise Unauthenticated("Sign in, or send the header Authorization with Bearer, a space and an API key.")
    return Actor(tenant=UUID(found["tenant"]), subject=found["subject"], role=Role(found["role"]))


def find_traceparent(event: Mapping[str, Any]) -> str | None:
    """Return the client's traceparent, as it came; None if the request has none."""
    headers: Mapping[str, str] = event.get("headers") or {}
    return next((value for name, value in headers.items() if name.lower() == TRACEPARENT), None)


def begin_trace(event: Mapping[str, Any]) -> str:
    """Continue the client's trace, or begin a new one; return the traceparent."""
    return continue_trace(find_traceparent(event))
