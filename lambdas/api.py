"""The REST API behind `ANY /{proxy+}`: one resolver, one router a noun."""

# Powertools types its contexts as bare dicts.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import threading
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.event_handler.api_gateway import Route
from aws_lambda_powertools.event_handler.middlewares import NextMiddleware

from adapters.settings.problems import BASE_PATH
from adapters.settings.processes import Api
from lambdas.cold_start import Handler, entry
from lambdas.cors import readable_by
from lambdas.openapi import openapi_json
from lambdas.problems import handle_problems, unreadable_body
from lambdas.requests import WIRING, read_json
from lambdas.rest_events import TRACEPARENT, begin_trace
from lambdas.routes import health, jobs, me, models, slides, uploads, webhooks
from lambdas.wiring import ApiWiring, api_wiring
from wsi.errors import Invalid

# Powertools keeps the event that it resolves on a class (BaseRouter.current_event): fine on Lambda, where a process
# has one request at a time, wrong in the embedded stack's threads.
_one_request = threading.Lock()


def make_app() -> APIGatewayRestResolver:
    """The resolver with all routes, without what they work on."""
    app = APIGatewayRestResolver(enable_validation=True, json_body_deserializer=read_json)
    app.use(middlewares=[only_known_queries])
    for noun in (uploads, slides, jobs, webhooks, models, me, health):
        app.include_router(noun.router, prefix=BASE_PATH)

    @app.get(f"{BASE_PATH}/openapi.json", tags=["health"], summary="This description")
    def openapi() -> Response[str]:
        return Response(status_code=200, content_type="application/json", body=openapi_json(app))

    handle_problems(app)
    return app


def only_known_queries(app: APIGatewayRestResolver, next_middleware: NextMiddleware) -> Response[Any]:
    """A filter that does not exist must not look as if it had been applied."""
    route: Route = app.context["_route"]
    known: set[str] = {param.alias for param in route.dependant.query_params}
    unknown = sorted(set(app.current_event.query_string_parameters) - known)
    if unknown and not route.rule.match(""):  # what matches anything is Powertools' route for "not found"
        raise Invalid(f"This address does not know the query parameter {', '.join(unknown)}.")
    return next_middleware(app)


def make_handler(wiring: ApiWiring) -> Handler:
    app = make_app()

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        with _one_request:
            traceparent = begin_trace(event)
            app.append_context(**{WIRING: wiring, TRACEPARENT: traceparent})
            answer = unreadable_body(event, traceparent) or app.resolve(event, context)
            return readable_by(wiring.page_origins, event, answer)

    return handle


handler = entry(Api, api_wiring, make_handler)
