"""Slides: register by reference, list, get, restate, archive, restore, hold, delete."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Query
from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Caller, Cursor, Limit, Search, Trace, Wiring
from lambdas.schemas.slides import LegalHold, SlideAnswer, SlideList, SlideToRegister, SlideToRestate, SlideToRestore
from wsi.records.slides import Choice
from wsi.slides import archiving, erasing, restating, slides
from wsi.spans import describe_span
from wsi.states import SlideState

router = APIGatewayRouter()


@router.post(
    "/slides", tags=["slides"], summary="Register a slide in a source of your tenant", status_code=HTTPStatus.CREATED
)
def register(body: SlideToRegister, caller: Caller, trace: Trace, wiring: Wiring) -> SlideAnswer:
    describe_span("register slide")
    slide = slides.register_slide(
        caller,
        body.s3_uri,
        mpp=body.mpp,
        choice=Choice.of(body.optical_path, body.focal_plane, body.picture),
        ledger=wiring.ledger,
        slides=wiring.slides,
        queues=wiring.queues,
        traceparent=trace,
    )
    describe_span(slide_id=str(slide.id))
    return SlideAnswer.of(slide)


@router.get("/slides", tags=["slides"], summary="Slides, newest first")
def list_slides(
    caller: Caller,
    wiring: Wiring,
    q: Search = None,
    status: Annotated[SlideState | None, Query()] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> SlideList:
    return SlideList.of(wiring.ledger.list_slides(caller, q=q, state=status, cursor=cursor, limit=limit))


@router.get("/slides/<slide_id>", tags=["slides"], summary="One slide")
def get(slide_id: UUID, caller: Caller, wiring: Wiring) -> SlideAnswer:
    return SlideAnswer.of(wiring.ledger.get_slide(caller, slide_id))


@router.patch(  # pyright: ignore[reportUnknownMemberType]
    "/slides/<slide_id>", tags=["slides"], summary="State a scale, an image or a name, and inspect again"
)
def restate(slide_id: UUID, body: SlideToRestate, caller: Caller, trace: Trace, wiring: Wiring) -> SlideAnswer:
    describe_span("restate slide", slide_id=str(slide_id))
    slide = restating.restate_slide(
        caller,
        slide_id,
        body.to_restatement(),
        ledger=wiring.ledger,
        objects=wiring.objects,
        queues=wiring.queues,
        traceparent=trace,
    )
    return SlideAnswer.of(slide)


@router.post("/slides/<slide_id>/archive", tags=["slides"], summary="Lay the slide into the archive")
def archive(slide_id: UUID, caller: Caller, wiring: Wiring) -> SlideAnswer:
    return SlideAnswer.of(archiving.archive_slide(caller, slide_id, ledger=wiring.ledger, slides=wiring.slides))


@router.post(
    "/slides/<slide_id>/restore",
    tags=["slides"],
    summary="Bring the slide back from the archive",
    status_code=HTTPStatus.ACCEPTED,
)
def restore(
    slide_id: UUID, caller: Caller, wiring: Wiring, body: Annotated[SlideToRestore | None, Body()] = None
) -> SlideAnswer:
    tier = (body or SlideToRestore()).tier
    slide = archiving.restore_slide(caller, slide_id, tier=tier, ledger=wiring.ledger, slides=wiring.slides)
    return SlideAnswer.of(slide)


@router.put("/slides/<slide_id>/legal-hold", tags=["slides"], summary="Begin or end a legal hold")  # pyright: ignore[reportUnknownMemberType]
def hold(slide_id: UUID, body: LegalHold, caller: Caller, wiring: Wiring) -> SlideAnswer:
    slide = erasing.set_legal_hold(caller, slide_id, held=body.held, ledger=wiring.ledger, locks=wiring.locks)
    return SlideAnswer.of(slide)


@router.delete("/slides/<slide_id>", tags=["slides"], summary="Delete the slide", status_code=HTTPStatus.NO_CONTENT)
def delete(slide_id: UUID, caller: Caller, wiring: Wiring) -> Response[None]:
    erasing.delete_slide(
        caller, slide_id, ledger=wiring.ledger, slides=wiring.slides, objects=wiring.objects, locks=wiring.locks
    )
    return Response(status_code=HTTPStatus.NO_CONTENT)
