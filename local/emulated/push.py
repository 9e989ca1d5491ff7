"""Subscriptions for the deployed AppSync API, which MiniStack does not have.

The local AppSync server stands in front of it. Subscribers are let in by the deployed authorizer. A signed mutation
goes on to the deployed API first, as it was signed: MiniStack checks the signature and that the caller's role may use
the field, and runs the deployed resolver. Only what it takes goes to the subscribers.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import httpx
from aiohttp import web

from adapters.deploying import Deploying
from local.appsync.callers import Doorkeeper
from local.appsync.server import make_appsync_app
from local.gateway.http_server import HttpServer

SECONDS = 20.0  #: the first mutation starts Node


class PushServer:
    """A server in front of the deployed API `api_id`. Its path is MiniStack's own, since the path is part of what is
    signed."""

    def __init__(self, endpoint: str, api_id: str) -> None:
        self._endpoint = endpoint
        self._path = f"/v1/apis/{api_id}"
        self._http = httpx.Client(timeout=SECONDS)
        self._authorize: tuple[Deploying, str] | None = None
        self._server = HttpServer("appsync", self._app)

    @property
    def publish_url(self) -> str:
        return f"{self._server.url}{self._path}/graphql"

    @property
    def realtime_url(self) -> str:
        return f"{self.publish_url.replace('http', 'ws', 1)}/realtime"

    def start(self, deploying: Deploying, authorizer: str) -> None:
        """Start the server. `authorizer` is the name of the deployed function."""
        self._authorize = (deploying, authorizer)
        self._server.start()

    def stop(self) -> None:
        self._server.stop()
        self._http.close()

    def _app(self) -> web.Application:
        doorkeeper = Doorkeeper(
            authorizer=self._call_authorizer, signature_refusal=self._refusal, lambda_context=lambda: None
        )
        app = web.Application()
        app.add_subapp(self._path, make_appsync_app(doorkeeper))
        return app

    def _call_authorizer(self, event: dict[str, Any], _: Any) -> dict[str, Any]:
        assert self._authorize, "started"
        deploying, function = self._authorize
        return deploying.invoke(function, event)

    def _refusal(self, method: str, url: str, headers: Mapping[str, str], body: bytes, _: datetime) -> str | None:
        """Return why the deployed API refuses the mutation; None if it accepts it."""
        address = f"{self._endpoint}{urlsplit(url).path}"
        answer = self._http.request(method, address, headers=dict(headers), content=body)
        errors = answer.json().get("errors")
        if answer.is_success and not errors:
            return None
        return str(errors[0].get("message")) if errors else f"The deployed API answered {answer.status_code}."
