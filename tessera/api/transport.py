"""HTTP to the REST API: credential, retries where a repeat does no harm, problem+json as typed errors."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from adapters.settings.problems import BASE_PATH
from wsi.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    RequestError,
    SourceUnavailable,
    TesseraError,
    TooManyRequests,
    Unauthenticated,
)

# It writes whole URLs at level INFO, and those of S3 are presigned: a reader of the log could read the slide.
logging.getLogger("httpx").setLevel(logging.WARNING)

ATTEMPTS = 6
FIRST_PAUSE = 0.25  #: seconds; doubled with each attempt
LONGEST_PAUSE = 8.0  #: seconds
LONGEST_ASKED = 60.0  #: s of a Retry-After; a longer one is of a quota, which is told and not waited for

_ERRORS: Mapping[int, type[TesseraError]] = {
    error.status: error for error in (Unauthenticated, Forbidden, NotFound, Conflict, Invalid, TooManyRequests)
}


def compute_pause(attempt: int, *, asked: float | None = None) -> float:
    """Return the seconds before attempt `attempt` + 1 (0-based): full jitter, so that clients that failed together do
    not come back together; never less than the server asked for."""
    jittered = random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt))  # noqa: S311  # a pause, no secret
    return max(jittered, asked or 0.0)


def make_error(response: httpx.Response) -> TesseraError:
    """Return the typed error of a response that is no success, with the problem's message, or else one about the
    status."""
    kind = _ERRORS.get(response.status_code, SourceUnavailable if response.status_code >= 500 else RequestError)
    try:
        problem: Any = response.json()
    except ValueError:
        problem = None
    detail = problem.get("detail") or problem.get("title") if isinstance(problem, dict) else None
    return kind(str(detail or f"The server answered with status {response.status_code}."))


class Transport:
    """One connection pool to one installation. Safe to use from several threads."""

    def __init__(
        self, url: str, credential: str, *, timeout: float = 30.0, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Take a `url` with or without the base path, and a `credential`: an API key or a token."""
        root = url.rstrip("/")
        self._base = root if root.endswith(BASE_PATH) else root + BASE_PATH
        self._http = httpx.Client(headers={"Authorization": f"Bearer {credential}"}, timeout=timeout)
        self._sleep = sleep

    def close(self) -> None:
        self._http.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool,
    ) -> Any:
        """Send a request, and return the answer's JSON. `repeatable` calls are tried again after a 5xx, a 429 or a
        broken connection; others are sent once. Raises the typed errors of `wsi.errors`."""
        for attempt in range(ATTEMPTS):
            last = not repeatable or attempt + 1 == ATTEMPTS
            try:
                response = self._http.request(
                    method, self._base + path, json=body, params=query, headers=dict(headers or {})
                )
            except httpx.TransportError as error:
                if last:
                    raise SourceUnavailable(f"The server cannot be reached ({type(error).__name__}).") from error
                self._sleep(compute_pause(attempt))
                continue
            if response.is_success:
                return response.json() if response.content else None
            error = make_error(response)
            asked = _retry_after(response)
            is_far = isinstance(error, TooManyRequests) and asked is not None and asked > LONGEST_ASKED
            if last or is_far or not (error.retryable or response.status_code >= 500):
                raise error
            self._sleep(compute_pause(attempt, asked=min(asked or 0.0, LONGEST_ASKED)))
        raise AssertionError("unreachable: the last attempt returns or raises")


def _retry_after(response: httpx.Response) -> float | None:
    value = response.headers.get("retry-after", "")
    return float(value) if value.isdigit() else None
