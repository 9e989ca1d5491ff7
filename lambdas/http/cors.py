"""CORS: pages of other origins than the API's own may read its answers if the deployment names them, and no other page.

The page that is served from the API's origin needs none of this. The gateway answers preflights, and for itself
(cdk/api).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

_EXPOSED = "Retry-After"  #: besides what browsers show to any page


def add_cors_headers(origins: Collection[str], event: Mapping[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer, with the CORS headers that let the calling page read it if its origin is one of `origins`."""
    if not origins:
        return answer
    asked: Mapping[str, str] = event.get("headers") or {}
    origin = next((value for name, value in asked.items() if name.lower() == "origin"), None)
    given: Mapping[str, list[str]] = answer.get("multiValueHeaders") or {}
    headers = {**given, "Vary": [*given.get("Vary", ()), "Origin"]}
    if origin in origins:
        headers |= {"Access-Control-Allow-Origin": [origin], "Access-Control-Expose-Headers": [_EXPOSED]}
    return {**answer, "multiValueHeaders": headers}
