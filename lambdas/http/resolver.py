"""The resolver of functions that answer routes of the API, and their handler: each function has routers of its own."""

# Powertools types its contexts as bare dicts.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.event_handler.api_gateway import Route
from aws_lambda_powertools.event_handler.middlewares import NextMiddleware
from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from adapters.settings.problems import BASE_PATH
from lambdas.cold_start import Handler
from lambdas.http.auditing import VIEWS, audit_route
from lambdas.http.cors import add_cors_headers
from lambdas.http.problems import handle_problems, refuse_unreadable_body
from lambdas.http.requests import WIRING, read_json
from lambdas.http.rest_events import TRACEPARENT, find_traceparent
from lambdas.http.side_by_side import SideBySideResolver
from lambdas.wiring import SubmitWiring
from wsi.audit.views import RecordedViews
from wsi.errors import Invalid
from wsi.notices.outbox import wake
from wsi.records.spans import SpanKind
from wsi.spans import OpenSpan, with_span


def make_resolver(*routers: APIGatewayRouter) -> APIGatewayRestResolver:
    """Return a resolver of the routers' routes, without what they work on."""
    app = SideBySideResolver(enable_validation=True, json_body_deserializer=read_json)
    app.use(middlewares=[refuse_unknown_queries, wake_after_administration, audit_route])
    for router in routers:
        app.include_router(router, prefix=BASE_PATH)
    handle_problems(app)
    return app


def make_resolver_handler(app: APIGatewayRestResolver, wiring: SubmitWiring) -> Handler:
    """Return the handler that answers requests by the resolver's routes, which work on `wiring`. A route that is part
    of a slide's path gives the request's span a name; the spans of all others are dropped."""
    views = RecordedViews(wiring.ledger)

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        request = OpenSpan(wiring.tracer, "api", None, parent=find_traceparent(event), kind=SpanKind.SERVER)
        with with_span(request) as span:
            traceparent = span.traceparent
            app.append_context(**{WIRING: wiring, TRACEPARENT: traceparent, VIEWS: (views, wiring.ledger)})
            answer = refuse_unreadable_body(event, traceparent) or app.resolve(event, context)
            span.describe(status=answer["statusCode"])
            if answer["statusCode"] >= 500:
                span.error = f"http_{answer['statusCode']}"
            return add_cors_headers(wiring.page_origins, event, forbid_storing(answer))

    return handle


def forbid_storing(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer, with the header by which no browser keeps it: answers name slides and people."""
    return {**answer, "multiValueHeaders": {**(answer.get("multiValueHeaders") or {}), "Cache-Control": ["no-store"]}}


def wake_after_administration(app: APIGatewayRestResolver, next_middleware: NextMiddleware) -> Response[Any]:
    """Wake the relay after a change under /admin: whoever lost access by it must not go on listening until the relay's
    schedule."""
    answer = next_middleware(app)
    route: Route = app.context["_route"]
    if route.method != "GET" and route.path.startswith(f"{BASE_PATH}/admin/") and answer.status_code < 300:
        wiring: SubmitWiring = app.context[WIRING]
        wake(wiring.queues)
    return answer


def refuse_unknown_queries(app: APIGatewayRestResolver, next_middleware: NextMiddleware) -> Response[Any]:
    """Raise Invalid for an unknown query parameter: a filter that does not exist must not look as if it had been
    applied."""
    route: Route = app.context["_route"]
    known: set[str] = {param.alias for param in route.dependant.query_params}
    unknown = sorted(set(app.current_event.query_string_parameters) - known)
    if unknown and not route.rule.match(""):  # a rule that matches "" is Powertools' route for "not found"
        raise Invalid(f"This address does not know the query parameter {', '.join(unknown)}.")
    return next_middleware(app)
