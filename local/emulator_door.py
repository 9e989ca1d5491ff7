"""The door of MiniStack, which itself takes whoever comes for the root of the account.

In come requests that the stack's key has signed (Signature Version 4, by header or by a presigned URL), the sign-in of
people, and the health check. Pages of the stack's own origins may read answers, and no others. A request under another
host's name is refused: a page of that host had its name resolve to this machine.

It runs in MiniStack's venv, and stands alone: the standard library, nothing of ours.
"""

from __future__ import annotations

import calendar
import hashlib
import hmac
import re
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote_to_bytes

ALGORITHM: Final = "AWS4-HMAC-SHA256"
SKEW: Final = 900  #: s, between the signer's clock and ours
LONGEST: Final = 7 * 86_400  #: s that a presigned URL may hold
LARGEST_SIGNED_BODY: Final = 16 * 1024**2  #: bytes read before the signature is known; S3 states its digest in a header
HOSTS: Final = frozenset({"127.0.0.1", "localhost"})
EXPOSED: Final = b"ETag, x-amz-checksum-sha256"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_HEADER = re.compile(
    rf"{ALGORITHM} Credential=(?P<key>[^/,]+)/(?P<scope>[^,]+), ?SignedHeaders=(?P<signed>[a-z0-9;_-]+), ?"
    r"Signature=(?P<signature>[0-9a-f]{64})"
)
#: What Cognito answers without a signature: it asks for a password or a token instead.
_SIGN_IN = frozenset(
    f"AWSCognitoIdentityProviderService.{name}"
    for name in ("InitiateAuth", "RespondToAuthChallenge", "RevokeToken", "GlobalSignOut", "GetUser")
)
_OPEN = re.compile(
    r"GET (/_ministack/health|/[a-z0-9-]+_[A-Za-z0-9]+/\.well-known/(jwks\.json|openid-configuration)"
    r"|/oauth2/(authorize|userInfo)|/logout)|POST (/oauth2/(login|token|revoke)|/login)"
)


class Door:
    """An ASGI app in front of `app`. `origins`: a file with the origins of pages, one a line; it may come later."""

    def __init__(
        self, app: App, *, key_id: str, secret: str, origins: Path, clock: Callable[[], float] = time.time
    ) -> None:
        self._app = app
        self._key_id = key_id
        self._secret = secret
        self._origins = origins
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = _read_headers(scope)
        if _name_host(headers.get("host", "")) not in HOSTS:
            await _refuse(send, 421, "This server answers as 127.0.0.1 and localhost only.")
            return
        origin = headers.get("origin", "")
        is_ours = bool(origin) and origin in self._read_origins()
        if scope["method"] == "OPTIONS":
            await _answer_preflight(send, origin if is_ours else None)
            return
        receive, refusal = await self._check(scope, headers, receive)
        send = _share_with(origin if is_ours else None, send)
        if refusal:
            await _refuse(send, 403, refusal)
        else:
            await self._app(scope, receive, send)

    def _read_origins(self) -> frozenset[str]:
        try:
            return frozenset(self._origins.read_text().split())
        except FileNotFoundError:
            return frozenset()

    async def _check(self, scope: Scope, headers: dict[str, str], receive: Receive) -> tuple[Receive, str | None]:
        """Return the body's source, and why the request is refused; None lets it in."""
        query = list(_read_query(scope["query_string"].decode("latin-1")))
        named = dict(query)
        if "X-Amz-Signature" in named or "authorization" in headers:
            if "X-Amz-Signature" in named and "authorization" in headers:
                return receive, "A request is signed once, by its header or by its address."
            digest = "UNSIGNED-PAYLOAD" if "X-Amz-Signature" in named else headers.get("x-amz-content-sha256")
            if digest is None:
                body = await _read_body(receive)
                if body is None:
                    return receive, "The body is too large to be signed so."
                digest, receive = hashlib.sha256(body).hexdigest(), _replay(body, receive)
            return receive, self.find_refusal(
                scope["method"], scope["raw_path"].decode("latin-1"), query, headers, digest
            )
        return receive, None if _is_open(scope, headers) else "This stack answers requests that its key has signed."

    def find_refusal(
        self, method: str, path: str, query: list[tuple[str, str]], headers: dict[str, str], digest: str
    ) -> str | None:
        """Return why the signature is refused; None for a good one. `path` is raw, names and values of `query` are
        encoded as AWS does."""
        named = dict(query)
        if "X-Amz-Signature" in named:
            credential = _decode(named.get("X-Amz-Credential", ""))
            key, _, scope = credential.partition("/")
            signed, signature = _decode(named.get("X-Amz-SignedHeaders", "")), named["X-Amz-Signature"]
            stamp, expires = named.get("X-Amz-Date", ""), named.get("X-Amz-Expires", "")
            query = [(name, value) for name, value in query if name != "X-Amz-Signature"]
            if named.get("X-Amz-Algorithm") != ALGORITHM or not expires.isascii() or not expires.isdigit():
                return "The address is not signed in a known way."
            holds = min(int(expires), LONGEST)
        else:
            found = _HEADER.fullmatch(headers.get("authorization", ""))
            if found is None:
                return "The request is not signed in a known way."
            key, scope, signed, signature = found["key"], found["scope"], found["signed"], found["signature"]
            stamp, holds = headers.get("x-amz-date", ""), SKEW
        names = signed.split(";")
        if key != self._key_id:
            return "This stack knows no such key."
        if "host" not in names or any(name.startswith("x-amz-") and name not in names for name in headers):
            return "The host and all headers of Amazon must be signed."
        try:
            at = calendar.timegm(time.strptime(stamp, "%Y%m%dT%H%M%SZ"))
            day, region, service, end = scope.split("/")
        except ValueError:
            return "The request is not signed in a known way."
        if end != "aws4_request" or day != stamp[:8] or not at - SKEW <= self._clock() < at + holds:
            return "The signature has expired."
        canonical = "\n".join(
            (
                method,
                path if service == "s3" else quote(path, safe="/-_.~"),
                "&".join(f"{name}={value}" for name, value in sorted(query)),
                *(f"{name}:{' '.join(headers.get(name, '').split())}" for name in names),
                "",
                signed,
                digest,
            )
        )
        hashed = hashlib.sha256(canonical.encode("latin-1")).hexdigest()
        expected = _sign(self._secret, (day, region, service, end), f"{ALGORITHM}\n{stamp}\n{scope}\n{hashed}")
        return None if hmac.compare_digest(expected, signature) else "The signature is not this stack's."


def _is_open(scope: Scope, headers: dict[str, str]) -> bool:
    method, path = scope["method"], scope["raw_path"].decode("latin-1")
    if _OPEN.fullmatch(f"{method} {path}"):
        return method == "GET" or not scope["query_string"]
    is_json = headers.get("content-type", "").partition(";")[0].strip() == "application/x-amz-json-1.1"
    target = headers.get("x-amz-target", "")
    return (method, path, scope["query_string"]) == ("POST", "/", b"") and is_json and target in _SIGN_IN


def _sign(secret: str, scope: tuple[str, ...], text: str) -> str:
    key = f"AWS4{secret}".encode()
    for part in scope:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _read_headers(scope: Scope) -> dict[str, str]:
    """Return the headers by lower-case name; of a repeated one the values, joined."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    return headers


def _read_query(query: str) -> Iterator[tuple[str, str]]:
    """Yield names and values, encoded anew as AWS does: all but unreserved characters, in upper-case hexadecimal."""
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        yield quote(unquote_to_bytes(name), safe="-_.~"), quote(unquote_to_bytes(value), safe="-_.~")


def _decode(text: str) -> str:
    return unquote_to_bytes(text).decode("latin-1")


def _name_host(header: str) -> str:
    return header.rpartition(":")[0] if header.rpartition(":")[2].isdigit() else header


async def _read_body(receive: Receive) -> bytes | None:
    body = b""
    while len(body) <= LARGEST_SIGNED_BODY:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body
    return None


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> MutableMapping[str, Any]:
        return waiting.pop() if waiting else await receive()

    return replay


def _share_with(origin: str | None, send: Send) -> Send:
    """Return a `send` whose answers the pages of `origin` may read, whatever MiniStack says."""

    async def share(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            kept = [(n, v) for n, v in message["headers"] if not n.lower().startswith(b"access-control-")]
            message = {**message, "headers": [*kept, *_name_origin(origin)]}
        await send(message)

    return share


def _name_origin(origin: str | None) -> list[tuple[bytes, bytes]]:
    varies = (b"vary", b"Origin")
    if origin is None:
        return [varies]
    return [varies, (b"access-control-allow-origin", origin.encode()), (b"access-control-expose-headers", EXPOSED)]


async def _answer_preflight(send: Send, origin: str | None) -> None:
    allowed = [
        (b"access-control-allow-methods", b"GET, PUT, POST"),
        (b"access-control-allow-headers", b"*"),
        (b"access-control-max-age", b"3600"),
    ]
    headers = [(b"content-length", b"0"), *_name_origin(origin), *(allowed if origin else ())]
    await send({"type": "http.response.start", "status": 200 if origin else 403, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = f"<Error><Code>AccessDenied</Code><Message>{sentence}</Message></Error>".encode()
    headers = [(b"content-type", b"application/xml"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
