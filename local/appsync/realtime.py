"""One connection of AppSync's realtime protocol (subprotocol graphql-ws, AWS's flavour).

https://docs.aws.amazon.com/appsync/latest/devguide/real-time-websocket-client.html
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from aiohttp import WSMsgType, web
from graphql import GraphQLSchema, OperationType

from local.appsync.callers import Caller, CallerRefused, Doorkeeper
from local.appsync.operations import OperationRefused, make_resolver_context, read_object, read_operation, read_request
from local.appsync.resolvers import ResolverRefused, Resolvers
from local.appsync.subscriptions import Subscription, Subscriptions

TIMEOUT_MS = 300_000  #: a client that hears nothing for so long reconnects
KEEP_ALIVE = 60.0  #: s
FIRST_WORD = 5.0  #: s
LARGEST_MESSAGE = 240 * 1024  #: bytes, AppSync's quota
MOST_SUBSCRIPTIONS = 100  #: a connection, AppSync's default quota


class Connection:
    def __init__(
        self, schema: GraphQLSchema, resolvers: Resolvers, subscriptions: Subscriptions, doorkeeper: Doorkeeper
    ) -> None:
        self._schema = schema
        self._resolvers = resolvers
        self._subscriptions = subscriptions
        self._doorkeeper = doorkeeper
        self._outgoing: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue()  #: None closes the connection
        self._initialised = False

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=("graphql-ws",), max_msg_size=LARGEST_MESSAGE)
        await socket.prepare(request)
        try:
            await self._doorkeeper.admit(_handshake_headers(request), {})
        except CallerRefused as refusal:
            # A client that is refused before it has said connection_init may not read why.
            await socket.receive(timeout=FIRST_WORD)
            await socket.send_json(_errors("connection_error", None, "UnauthorizedException", 401, str(refusal)))
            await socket.close()
            return socket
        writing = asyncio.create_task(self._write(socket))
        try:
            async for message in socket:
                if message.type is not WSMsgType.TEXT:
                    break
                try:
                    await self._take(_frame(message.data))
                except OperationRefused as refusal:
                    self._send(_errors("error", None, refusal.kind, 400, refusal.message))
        finally:
            self._subscriptions.drop(self)
            writing.cancel()
        return socket

    async def _write(self, socket: web.WebSocketResponse) -> None:
        while True:
            try:
                message = await asyncio.wait_for(self._outgoing.get(), KEEP_ALIVE)
            except TimeoutError:
                message = {"type": "ka"}
            if message is None:
                self._subscriptions.drop(self)
                await socket.close()
                return
            try:
                await socket.send_json(message)
            except ConnectionError:  # the client left; `serve` ends with it
                return

    async def _take(self, message: Mapping[str, Any]) -> None:
        match message.get("type"):
            case "connection_init":
                self._initialised = True
                self._send({"type": "connection_ack", "payload": {"connectionTimeoutMs": TIMEOUT_MS}})
                self._send({"type": "ka"})
            case "start":
                await self._start(message)
            case "stop":
                self._subscriptions.remove(self, message["id"])
                self._send({"type": "complete", "id": message["id"]})
            case kind:
                self._send(_errors("error", message.get("id"), "UnsupportedOperation", 400, f"Unknown message {kind}"))

    async def _start(self, message: Mapping[str, Any]) -> None:
        subscription_id = message["id"]
        try:
            subscription = await self._subscription(subscription_id, message.get("payload"))
        except CallerRefused as refusal:
            self._send(_errors("error", subscription_id, "UnauthorizedException", 401, str(refusal)))
        except (OperationRefused, ResolverRefused) as refusal:
            code = 401 if refusal.kind == "Unauthorized" else 400
            self._send(_errors("error", subscription_id, refusal.kind, code, refusal.message))
        else:
            self._subscriptions.add(self, subscription)
            self._send({"type": "start_ack", "id": subscription_id})

    async def _subscription(self, subscription_id: str, payload: Any) -> Subscription:
        """Admit the caller again for this subscription, and return it with the filter that its resolver sets. Raises
        Refused, OperationRefused, ResolverRefused."""
        if not self._initialised:
            raise OperationRefused("BadRequestException", "The connection was not initialised.")
        if self._subscriptions.count(self) >= MOST_SUBSCRIPTIONS:
            raise OperationRefused("MaxSubscriptionsReachedError", "This connection has too many subscriptions.")
        headers, request = _start_payload(payload)
        caller: Caller = await self._doorkeeper.admit(headers, request)
        operation = read_operation(self._schema, request, caller)
        if operation.node.operation != OperationType.SUBSCRIPTION:
            raise OperationRefused("BadRequestException", "Only subscriptions are started here.")
        field = operation.field.name.value
        evaluated = await self._resolvers.resolve(field, make_resolver_context(caller, operation.arguments))
        return Subscription(
            id=subscription_id,
            field=field,
            arguments=operation.arguments,
            filter=evaluated.filter,
            invalidation_filter=evaluated.invalidation_filter,
            document=operation.document,
            variables=operation.variables,
            send=self._send,
            disconnect=lambda: self._outgoing.put_nowait(None),
        )

    def _send(self, message: Mapping[str, Any]) -> None:
        self._outgoing.put_nowait(message)


def _frame(text: str) -> Mapping[str, Any]:
    """Read a message of the client. Raises OperationRefused."""
    message = read_object(text)
    if message.get("type") in ("start", "stop") and not isinstance(message.get("id"), str):
        raise OperationRefused("BadRequestException", "To start or stop, a message names an id.")
    return message


def _start_payload(payload: Any) -> tuple[dict[str, str], Mapping[str, Any]]:
    """Return the headers and the GraphQL request of a `start`. Raises OperationRefused."""
    match payload:
        case {"data": str() as data, "extensions": {"authorization": dict() as headers}}:
            return _lower(headers), read_request(data)
        case _:
            raise OperationRefused("BadRequestException", "A start holds data and extensions.authorization.")


def _handshake_headers(request: web.Request) -> dict[str, str]:
    """Read the headers from `?header=<base64 JSON>` (gql sends + unescaped, which arrives as a space) or, as Amplify
    does, from the subprotocol `header-<base64url JSON>`. Empty when there is neither, or nothing readable."""
    offered = request.headers.get("Sec-WebSocket-Protocol", "").split(",")
    in_protocol = (name.strip().removeprefix("header-") for name in offered if name.strip().startswith("header-"))
    in_query = (unquote(pair[7:]) for pair in request.query_string.split("&") if pair.startswith("header="))
    encoded = next(in_protocol, None) or next(in_query, "")
    standard = encoded.replace("-", "+").replace("_", "/").replace(" ", "+")
    try:
        return _lower(json.loads(base64.b64decode(standard + "=" * (-len(standard) % 4))))
    except (binascii.Error, ValueError, AttributeError):
        return {}


def _lower(headers: Mapping[str, Any]) -> dict[str, str]:
    return {name.lower(): str(value) for name, value in headers.items()}


def _errors(kind: str, subscription_id: str | None, error: str, code: int, message: str) -> dict[str, Any]:
    named = {} if subscription_id is None else {"id": subscription_id}
    return {"type": kind, **named, "payload": {"errors": [{"errorType": error, "errorCode": code, "message": message}]}}
