"""Errors as problem+json (RFC 9457): every one of them is made here."""

# Powertools types its contexts as bare dicts.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError

from adapters.settings.problems import MEDIA_TYPE
from lambdas.http.problem_json import NO_SUCH_ROUTE, RETRY_AFTER_SECONDS, UNEXPECTED, make_problem_json
from lambdas.http.rest_events import TRACEPARENT
from lambdas.logs import make_logger
from wsi.errors import SlideRejected, TesseraError, TooManyRequests
from wsi.plain_faults import describe_fault

logger = make_logger("api")


def handle_problems(app: APIGatewayRestResolver) -> None:
    """Register a handler for each kind of error that a route can end in."""

    def get_traceparent() -> str:
        traceparent: str = app.context[TRACEPARENT]
        return traceparent

    @app.exception_handler(TesseraError)
    def handle_tessera_error(error: TesseraError) -> Response[str]:
        logger.info("refused", extra={"code": error.code, "status": error.status, TRACEPARENT: get_traceparent()})
        extra = {"reason": error.reason.value} if isinstance(error, SlideRejected) else {}
        known = error.retry_seconds if isinstance(error, TooManyRequests) else None
        headers = {"Retry-After": str(known or RETRY_AFTER_SECONDS)} if error.retryable else {}
        return make_problem(error.code, error.status, error.sentence, get_traceparent(), headers=headers, **extra)

    @app.exception_handler(RequestValidationError)
    def handle_invalid_request(error: RequestValidationError) -> Response[str]:
        errors = [{"field": format_field(found["loc"]), "message": describe_fault(found)} for found in error.errors()]
        logger.info("refused", extra={"code": "invalid", "status": 422, TRACEPARENT: get_traceparent()})
        return make_problem("invalid", 422, describe_errors(errors), get_traceparent(), errors=errors)

    @app.exception_handler(NotFoundError)
    def handle_unknown_route(_: NotFoundError) -> Response[str]:
        return make_problem("no_such_route", 404, NO_SUCH_ROUTE, get_traceparent())

    @app.exception_handler(Exception)
    def handle_unexpected_error(_: Exception) -> Response[str]:
        logger.exception("unexpected", extra={TRACEPARENT: get_traceparent()})
        return make_problem("internal", 500, UNEXPECTED, get_traceparent())


def refuse_unreadable_body(event: Mapping[str, Any], traceparent: str) -> dict[str, Any] | None:
    """Return the refusal of a body that is not JSON by its media type or not UTF-8; None for any other. It must run
    before Powertools reads the body: Powertools would parse forms too, and fail on both."""
    body: str = event.get("body") or ""
    headers: Mapping[str, str] = event.get("headers") or {}
    media_type = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
    if body and media_type.partition(";")[0].strip() not in ("", "application/json"):
        refusal = make_problem("unsupported_media_type", 415, "Send the body as application/json.", traceparent)
    elif body and event.get("isBase64Encoded") and not _is_utf8(base64.b64decode(body)):
        refusal = make_problem("invalid", 422, "The body is not text in UTF-8.", traceparent)
    else:
        return None
    logger.info("refused", extra={"status": refusal.status_code, TRACEPARENT: traceparent})
    return {
        "statusCode": refusal.status_code,
        "multiValueHeaders": {"Content-Type": [MEDIA_TYPE]},
        "body": refusal.body,
        "isBase64Encoded": False,
    }


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def make_problem(
    code: str, status: int, detail: str, traceparent: str, *, headers: dict[str, Any] | None = None, **extra: Any
) -> Response[str]:
    body = make_problem_json(code, status, detail, traceparent, **extra)
    return Response(status_code=status, content_type=MEDIA_TYPE, body=body, headers=headers)


def format_field(location: Sequence[str | int]) -> str:
    """Return "files[0].size" for ("body", "files", 0, "size"); "body" for ("body", 14), where JSON breaks off."""
    kind, *path = location
    if path and isinstance(path[0], int):
        return str(kind)
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return name or str(kind)


def describe_errors(errors: Sequence[dict[str, str]]) -> str:
    said = [f"{error['field']}: {error['message']}" for error in errors[:5]]
    more = len(errors) - len(said)
    return "The request is not valid. " + "; ".join(said) + (f"; and {more} more" if more > 0 else "") + "."
