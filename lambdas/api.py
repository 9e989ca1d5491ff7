"""The REST API behind `ANY /{proxy+}`: one resolver, one router a noun. `POST /jobs` is answered by `lambdas.submit`,
and the viewer's routes by `lambdas.tiles`."""

# Powertools types its contexts as bare dicts.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import functools

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from adapters.settings.problems import BASE_PATH
from adapters.settings.processes import ApiSettings
from lambdas.cold_start import Handler, make_entry
from lambdas.http.openapi import make_openapi_json
from lambdas.http.resolver import make_resolver, make_resolver_handler
from lambdas.routes import (
    administration,
    audit,
    health,
    jobs,
    me,
    models,
    slides,
    submission,
    uploads,
    usage,
    webhooks,
)
from lambdas.wiring import ApiWiring
from wsi.ports.administration import Operations

NOUNS = (uploads, slides, jobs, usage, webhooks, models, audit, me, health, *administration.NOUNS)
ROUTERS = tuple(noun.router for noun in NOUNS)


def make_whole_api() -> APIGatewayRestResolver:
    """Return the resolver of all routes that have one, of whatever function: what the description is made of."""
    return _make_api(*ROUTERS, submission.router)


def make_handler(wiring: ApiWiring) -> Handler:
    return make_resolver_handler(_make_api(*ROUTERS), wiring)


def _make_api(*routers: APIGatewayRouter) -> APIGatewayRestResolver:
    app = make_resolver(*routers)

    @app.get(f"{BASE_PATH}/openapi.json", tags=["health"], summary="This description")
    def openapi() -> Response[str]:
        return Response(status_code=200, content_type="application/json", body=_description())

    return app


@functools.cache
def _description() -> str:
    return make_openapi_json(make_whole_api())


def wire(settings: ApiSettings, operations: Operations | None = None) -> Handler:
    return make_handler(ApiWiring.of_api(settings, operations))


handler = make_entry(ApiSettings, wire)
