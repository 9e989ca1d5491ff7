"""Pages of other origins than the API's own: those that the deployment names may read its answers, and no other (CORS).

The page that lies beside the API needs none of this. The gateway answers preflights, and for itself (cdk/api).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

_EXPOSED = "Retry-After"  #: beside what browsers show to any page


def readable_by(origins: Collection[str], event: Mapping[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, with leave for the page that asks when its origin is one of `origins`."""
    if not origins:
        return answer
    asked: Mapping[str, str] = event.get("headers") or {}
    origin = next((value for name, value in asked.items() if name.lower() == "origin"), None)
    given: Mapping[str, list[str]] = answer.get("multiValueHeaders") or {}
    headers = {**given, "Vary": ["Origin"]}
    if origin in origins:
        headers |= {"Access-Control-Allow-Origin": [origin], "Access-Control-Expose-Headers": [_EXPOSED]}
    return {**answer, "multiValueHeaders": headers}
