"""Powertools' resolver for threads that each resolve a request. On Lambda a process has one request at a time, and
Powertools keeps it on a class; the embedded stack has many."""

# Powertools types its contexts as bare dicts, and what is overridden here is its own.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportPrivateUsage=false

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, cast

from aws_lambda_powertools.event_handler import APIGatewayRestResolver
from aws_lambda_powertools.event_handler.api_gateway import ResponseBuilder, Route
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent


class _OfThread(threading.local):
    """The request of one thread."""

    def __init__(self) -> None:
        self.event: APIGatewayProxyEvent | None = None
        self.context: dict[str, Any] = {}


class _ThreadContext:
    """The attribute `context` of a resolver: a dict for each thread."""

    def __get__(self, resolver: SideBySideResolver, _: type[SideBySideResolver]) -> dict[str, Any]:
        return resolver._of_thread.context

    def __set__(self, resolver: SideBySideResolver, value: dict[str, Any]) -> None:
        resolver._of_thread.context = value


class SideBySideResolver(APIGatewayRestResolver):
    """A resolver whose event and context are those of the thread that asks."""

    context = _ThreadContext()  # pyright: ignore[reportAssignmentType]

    def __init__(self, **options: Any) -> None:
        self._of_thread = _OfThread()
        self._building = threading.Lock()
        super().__init__(**options)

    @property
    def current_event(self) -> APIGatewayProxyEvent:  # pyright: ignore[reportIncompatibleVariableOverride]
        assert self._of_thread.event is not None, "no request is being resolved in this thread"
        return self._of_thread.event

    def resolve(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        self._of_thread.event = cast("APIGatewayProxyEvent", self._to_proxy_event(dict(event)))
        return super().resolve(event, context)

    def _call_route(self, route: Route, route_arguments: dict[str, str]) -> ResponseBuilder[Any]:
        """Call the route. Of its first requests, which may come at once, one puts its middlewares together."""
        with self._building:
            if not route._middleware_stack_built:
                route._build_middleware_stack(self._router_middlewares, self)
        return super()._call_route(route, route_arguments)
