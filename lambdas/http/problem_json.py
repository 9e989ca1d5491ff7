"""The body of a problem (RFC 9457)."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, Final

from adapters.settings.problems import PROBLEMS

RETRY_AFTER_SECONDS: Final = 5
UNEXPECTED: Final = "Something went wrong on our side. Try again; if it stays, send us the traceparent."
NO_SUCH_ROUTE: Final = "The API has no such address or method; see /openapi.json."


def make_problem_json(code: str, status: int, detail: str, traceparent: str, **extra: Any) -> str:
    value = {
        "type": f"{PROBLEMS}{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "traceparent": traceparent,
        **extra,
    }
    return json.dumps(value)
