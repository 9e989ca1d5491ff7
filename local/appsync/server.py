"""The two endpoints of an AppSync API: POST /graphql, and the realtime protocol at /graphql/realtime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from adapters.sigv4 import ALGORITHM
from local.appsync.callers import CallerRefused, Doorkeeper
from local.appsync.operations import OperationRefused, execute_operation, make_error, read_operation, read_request
from local.appsync.realtime import Connection
from local.appsync.resolvers import Resolvers
from local.appsync.schema import load_schema
from local.appsync.subscriptions import Subscriptions

FOLDER = Path(__file__).resolve().parents[2] / "cdk" / "appsync"


def make_appsync_app(doorkeeper: Doorkeeper, *, folder: Path = FOLDER) -> web.Application:
    """Return the app of an AppSync API. `folder` holds schema.graphql and a resolver file for each field."""
    schema = load_schema(folder / "schema.graphql")
    resolvers = Resolvers(folder)
    subscriptions = Subscriptions(schema)

    async def serve_graphql(request: web.Request) -> web.Response:
        body = await request.read()
        asked: Mapping[str, Any] | None = None
        headers = {name.lower(): value for name, value in request.headers.items()}
        try:
            asked = read_request(body)
            if headers.get("authorization", "").startswith(ALGORITHM):
                caller = doorkeeper.admit_signed(request.method, str(request.url), headers, body)
            else:
                caller = await doorkeeper.admit(headers, asked)
            operation = read_operation(schema, asked, caller)
            answered = await execute_operation(schema, resolvers, subscriptions, operation, caller)
        except CallerRefused as refusal:
            return _failure(401, "UnauthorizedException", str(refusal))
        except OperationRefused as refusal:
            return _failure(400 if asked is None else 200, refusal.kind, refusal.message)
        return web.json_response(answered)

    async def serve_realtime(request: web.Request) -> web.WebSocketResponse:
        return await Connection(schema, resolvers, subscriptions, doorkeeper).serve(request)

    async def start(_: web.Application) -> None:
        await resolvers.start()

    async def stop(_: web.Application) -> None:
        await resolvers.stop()

    app = web.Application()
    app.router.add_post("/graphql", serve_graphql)
    app.router.add_get("/graphql/realtime", serve_realtime)
    app.on_startup.append(start)
    app.on_cleanup.append(stop)
    return app


def _failure(status: int, kind: str, message: str) -> web.Response:
    return web.json_response({"data": None, "errors": [make_error(kind, message)]}, status=status)
