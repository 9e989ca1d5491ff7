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
from lambdas.logs import logger_for
from lambdas.problem_json import NO_SUCH_ROUTE, RETRY_AFTER_SECONDS, UNEXPECTED, problem_json
from lambdas.rest_events import TRACEPARENT
from wsi.errors import SlideRejected, TesseraError
from wsi.plain_faults import plain_fault

logger = logger_for("api")


def handle_problems(app: APIGatewayRestResolver) -> None:
    """Registers a handler for each kind of error that a route can end in."""

    def trace() -> str:
        traceparent: str = app.context[TRACEPARENT]
        return traceparent

    @app.exception_handler(TesseraError)
    def ours(error: TesseraError) -> Response[str]:
        logger.info("refused", extra={"code": error.code, "status": error.status, TRACEPARENT: trace()})
        extra = {"reason": error.reason.value} if isinstance(error, SlideRejected) else {}
        headers = {"Retry-After": str(RETRY_AFTER_SECONDS)} if error.retryable else {}
        return problem(error.code, error.status, error.sentence, trace(), headers=headers, **extra)

    @app.exception_handler(RequestValidationError)
    def invalid(error: RequestValidationError) -> Response[str]:
        errors = [{"field": field_name(found["loc"]), "message": plain_fault(found)} for found in error.errors()]
        logger.info("refused", extra={"code": "invalid", "status": 422, TRACEPARENT: trace()})
        return problem("invalid", 422, sentence_of(errors), trace(), errors=errors)

    @app.exception_handler(NotFoundError)
    def no_route(_: NotFoundError) -> Response[str]:
        return problem("no_such_route", 404, NO_SUCH_ROUTE, trace())

    @app.exception_handler(Exception)
    def unexpected(_: Exception) -> Response[str]:
        logger.exception("unexpected", extra={TRACEPARENT: trace()})
        return problem("internal", 500, UNEXPECTED, trace())


def unreadable_body(event: Mapping[str, Any], traceparent: str) -> dict[str, Any] | None:
    """The refusal of a body that is not JSON by its media type or not UTF-8, before Powertools reads it: that would
    parse forms too, and stumble over both."""
    body: str = event.get("body") or ""
    headers: Mapping[str, str] = event.get("headers") or {}
    media_type = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
    if body and media_type.partition(";")[0].strip() not in ("", "application/json"):
        refusal = problem("unsupported_media_type", 415, "Send the body as application/json.", traceparent)
    elif body and event.get("isBase64Encoded") and not _is_utf8(base64.b64decode(body)):
        refusal = problem("invalid", 422, "The body is not text in UTF-8.", traceparent)
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


def problem(
    code: str, status: int, detail: str, traceparent: str, *, headers: dict[str, Any] | None = None, **extra: Any
) -> Response[str]:
    body = problem_json(code, status, detail, traceparent, **extra)
    return Response(status_code=status, content_type=MEDIA_TYPE, body=body, headers=headers)


def field_name(location: Sequence[str | int]) -> str:
    """ "files[0].size" for ("body", "files", 0, "size"); "body" for ("body", 14), where JSON breaks off."""
    kind, *path = location
    if path and isinstance(path[0], int):
        return str(kind)
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return name or str(kind)


def sentence_of(errors: Sequence[dict[str, str]]) -> str:
    said = [f"{error['field']}: {error['message']}" for error in errors[:5]]
    more = len(errors) - len(said)
    return "The request is not valid. " + "; ".join(said) + (f"; and {more} more" if more > 0 else "") + "."
