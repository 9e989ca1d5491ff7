"""Tiles for the viewer: `GET /slides/{id}/pyramid`, `/thumbnail` and `/tiles/{level}/{x}_{y}.jpeg?v=`.

A function of its own, since it reads slides and is called forty times a second: without the resolver of the API, which
would take as long as a tile, and without SQL after the first request for a slide. docs/reference/tiles.md is its
contract.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from uuid import UUID

from adapters.s3.objects import S3Objects
from adapters.settings.problems import BASE_PATH, MEDIA_TYPE
from adapters.settings.processes import TilesSettings
from lambdas.cold_start import Handler, make_entry
from lambdas.http.cors import add_cors_headers
from lambdas.http.problem_json import NO_SUCH_ROUTE, RETRY_AFTER_SECONDS, UNEXPECTED, make_problem_json
from lambdas.http.rest_events import TRACEPARENT, begin_trace, read_actor
from lambdas.logs import make_logger
from lambdas.schemas.pyramid import Pyramid
from lambdas.wiring import make_aws_clients, make_slide_store, make_tenant_ledger
from wsi.audit.views import RecordedViews, ViewLog
from wsi.errors import Invalid, SourceChanged, TesseraError
from wsi.ports.objects import Objects, SlideStore
from wsi.records.identity import Actor
from wsi.viewer.kept_views import KeptViews, SlideRecords
from wsi.viewer.viewing import make_thumbnail_jpeg, view_tile

logger = make_logger("tiles")

UNREADABLE: Final = "Tessera-Unreadable"  #: header: the number of the file's tiles that are hatched in this one
FOR_EVER: Final = "private, max-age=31536000, immutable"
A_DAY: Final = "private, max-age=86400"
EACH_TIME: Final = "private, no-cache"
#: One browser, two people: what a cache keeps for one credential it must not show to another.
VARY: Final[Mapping[str, str]] = {"Vary": "Authorization"}

VIEWED: Final = "slide.view_image"  #: action of the audit log
THUMBNAIL: Final = "slide.view_thumbnail"

_NUMBER: Final = r"(\d{1,9})"
_ROUTE: Final = re.compile(
    rf"{BASE_PATH}/slides/([^/]+)/(?:(pyramid)|(thumbnail)|tiles/{_NUMBER}/{_NUMBER}_{_NUMBER}\.jpeg)"
)


@dataclass(frozen=True, slots=True)
class _TileAnswer:
    status: int
    media_type: str
    body: str | bytes
    headers: Mapping[str, str]

    def as_event(self) -> dict[str, Any]:
        picture = isinstance(self.body, bytes)
        text = base64.b64encode(self.body).decode() if isinstance(self.body, bytes) else self.body
        named = {"Content-Type": self.media_type, **VARY, **self.headers}
        headers = {name: [value] for name, value in named.items()}
        return {"statusCode": self.status, "multiValueHeaders": headers, "body": text, "isBase64Encoded": picture}


class ViewerLedger(SlideRecords, ViewLog, Protocol):
    """The part of `wsi.ports.ledger.TenantLedger` that the viewer needs."""


@dataclass(frozen=True, kw_only=True)
class TilesWiring:
    """The ports by which slides are found and read."""

    ledger: ViewerLedger
    slides: SlideStore
    objects: Objects
    page_origins: frozenset[str] = frozenset()


def make_handler(wiring: TilesWiring) -> Handler:
    views = KeptViews(ledger=wiring.ledger, slides=wiring.slides, objects=wiring.objects)
    recorded = RecordedViews(wiring.ledger)

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        traceparent = begin_trace(event)
        answer = _respond(event, wiring, views, recorded, traceparent)
        return add_cors_headers(wiring.page_origins, event, answer.as_event())

    return handle


def _respond(
    event: Mapping[str, Any], wiring: TilesWiring, views: KeptViews, recorded: RecordedViews, traceparent: str
) -> _TileAnswer:
    try:
        return _route(event, wiring, views, recorded, traceparent)
    except TesseraError as error:
        logger.info("refused", extra={"code": error.code, "status": error.status, TRACEPARENT: traceparent})
        headers = {"Retry-After": str(RETRY_AFTER_SECONDS)} if error.retryable else {}
        return _problem(error.code, error.status, error.sentence, traceparent, headers)
    except Exception:
        logger.exception("unexpected", extra={TRACEPARENT: traceparent})
        return _problem("internal", 500, UNEXPECTED, traceparent, {})


def _route(
    event: Mapping[str, Any], wiring: TilesWiring, views: KeptViews, recorded: RecordedViews, traceparent: str
) -> _TileAnswer:
    """Return the answer. What shows a slide is recorded before the answer is given."""
    actor = read_actor(event)
    found = _ROUTE.fullmatch(event["path"])
    if found is None or event["httpMethod"] != "GET":
        return _problem("no_such_route", 404, NO_SUCH_ROUTE, traceparent, {})
    slide, pyramid, thumbnail, *tile = found.groups()
    slide_id = _uuid(slide)
    asked: Mapping[str, str] = event.get("queryStringParameters") or {}
    if pyramid:
        answer = Pyramid.of(slide_id, views.view(actor, slide_id, etag=None))
        recorded.record(actor, VIEWED, str(slide_id))
        return _TileAnswer(200, "application/json", answer.model_dump_json(), {"Cache-Control": EACH_TIME})
    if thumbnail:
        slide = wiring.ledger.get_slide(actor, slide_id)
        jpeg = make_thumbnail_jpeg(slide, slides=wiring.slides, objects=wiring.objects)
        recorded.record(actor, THUMBNAIL, str(slide_id))
        return _TileAnswer(200, "image/jpeg", jpeg, {"Cache-Control": A_DAY if "v" in asked else EACH_TIME})
    answer = _tile(actor, slide_id, asked, tile, views)
    recorded.record(actor, VIEWED, str(slide_id))  # who has a tile's address need not have asked for the pyramid
    return answer


def _tile(actor: Actor, slide_id: UUID, asked: Mapping[str, str], tile: list[str], views: KeptViews) -> _TileAnswer:
    if "v" not in asked:
        raise Invalid("The address of a tile ends with ?v= and the etag of the slide's pyramid.")
    view = views.view(actor, slide_id, etag=asked["v"])
    if asked["v"] != view.etag:
        raise SourceChanged("This address is of another version of the slide's tiles: load its pyramid again.")
    level, column, row = map(int, tile)
    made = view_tile(view, level, column, row)
    marked = {UNREADABLE: str(made.unreadable)} if made.unreadable else {}
    return _TileAnswer(200, "image/jpeg", made.jpeg, {"Cache-Control": FOR_EVER, **marked})


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise Invalid("The id of the slide is none.") from error


def _problem(code: str, status: int, detail: str, traceparent: str, headers: Mapping[str, str]) -> _TileAnswer:
    body = make_problem_json(code, status, detail, traceparent)
    return _TileAnswer(status, MEDIA_TYPE, body, {"Cache-Control": "no-store", **headers})


def wire(settings: TilesSettings) -> Handler:
    clients = make_aws_clients(settings)
    ledger = make_tenant_ledger(settings)
    return make_handler(
        TilesWiring(
            ledger=ledger,
            slides=make_slide_store(settings, clients, ledger, settings),
            objects=S3Objects(clients, settings.results_bucket),
            page_origins=settings.origins,
        )
    )


handler = make_entry(TilesSettings, wire)
