"""Authentication of callers: the Lambda authorizer for people and services, Signature Version 4 for our own
processes."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from local.appsync.schema import Mode

log = logging.getLogger(__name__)

Authorizer = Callable[[dict[str, Any], Any], dict[str, Any]]  #: the Lambda's handler
#: (method, url, headers by lower-case name, body, now) -> why the signature is refused, or None
SignatureCheck = Callable[[str, str, Mapping[str, str], bytes, datetime], str | None]


class CallerRefused(Exception):
    """A refusal to admit a caller: 401, in AppSync's words."""


@dataclass(frozen=True, slots=True)
class Caller:
    mode: Mode
    resolver_context: Mapping[str, str] = field(default_factory=dict)  #: of the authorizer's answer

    def as_identity(self) -> dict[str, Any]:
        """Return `ctx.identity` as resolvers see it."""
        return {"resolverContext": dict(self.resolver_context)} if self.mode is Mode.LAMBDA else {}


@dataclass(frozen=True, slots=True)
class Doorkeeper:
    authorizer: Authorizer
    signature_refusal: SignatureCheck
    lambda_context: Callable[[], Any]

    async def admit(self, headers: Mapping[str, str], operation: Mapping[str, Any]) -> Caller:
        """Admit a caller by the Authorization header alone, as the API's authorizer mode does. Raises Refused.

        `headers` by lower-case name; `operation` is the GraphQL request: {"query", "operationName", "variables"}.
        """
        token = headers.get("authorization", "")
        if not token:
            raise CallerRefused("Valid authorization header not provided.")
        event = {
            "authorizationToken": token,
            "requestContext": {
                "apiId": "local",
                "accountId": "000000000000",
                "requestId": str(uuid.uuid4()),
                "queryString": operation.get("query", ""),
                "operationName": operation.get("operationName"),
                "variables": operation.get("variables") or {},
            },
            "requestHeaders": dict(headers),
        }
        try:
            answer = await asyncio.to_thread(self.authorizer, event, self.lambda_context())
        except Exception as error:
            log.exception("The authorizer failed.")
            raise CallerRefused("You are not authorized to make this call.") from error
        if not answer.get("isAuthorized"):
            raise CallerRefused("You are not authorized to make this call.")
        return Caller(Mode.LAMBDA, dict(answer.get("resolverContext") or {}))

    def admit_signed(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Caller:
        """Admit one of our own processes by the signature of its request. Raises Refused."""
        refusal = self.signature_refusal(method, url, headers, body, datetime.now(UTC))
        if refusal:
            raise CallerRefused(refusal)
        return Caller(Mode.IAM)
