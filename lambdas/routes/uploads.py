"""Uploads: begin, sign parts, resume, complete, abort."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Caller, Cursor, Limit, Trace, Wiring
from lambdas.schemas.slides import SlideAnswer
from lambdas.schemas.uploads import (
    GrantedPart,
    GrantedParts,
    NewUpload,
    OpenedUpload,
    PartsToUpload,
    StoredParts,
    read_part_cursor,
)
from wsi.records.slides import Choice
from wsi.spans import describe_span
from wsi.uploads import uploads

router = APIGatewayRouter()


@router.post("/uploads", tags=["uploads"], summary="Begin an upload", status_code=HTTPStatus.CREATED)
def begin(body: NewUpload, caller: Caller, trace: Trace, wiring: Wiring) -> OpenedUpload:
    describe_span("begin upload")
    files = [file.to_request() for file in body.files]
    choice = Choice.of(body.optical_path, body.focal_plane, body.picture)
    asked: dict[str, Any] = {"mpp": body.mpp, "choice": choice, "deidentify": body.deidentify}
    slide = uploads.open_upload(caller, files, **asked, ledger=wiring.ledger, slides=wiring.slides, traceparent=trace)
    describe_span(slide_id=str(slide.id))
    return OpenedUpload.of(slide)


@router.post("/uploads/<slide_id>/parts", tags=["uploads"], summary="URLs for up to 100 parts")
def grant(slide_id: UUID, body: PartsToUpload, caller: Caller, wiring: Wiring) -> GrantedParts:
    asked = [part.to_request() for part in body.parts]
    granted = uploads.grant_parts(caller, slide_id, asked, ledger=wiring.ledger, slides=wiring.slides)
    return GrantedParts(parts=[GrantedPart.of(part) for part in granted])


@router.get("/uploads/<slide_id>/parts", tags=["uploads"], summary="The parts that have arrived, for resuming")
def stored(slide_id: UUID, caller: Caller, wiring: Wiring, cursor: Cursor = None, limit: Limit = 100) -> StoredParts:
    held, following = uploads.list_stored_parts(
        caller, slide_id, after=read_part_cursor(cursor), limit=limit, ledger=wiring.ledger, slides=wiring.slides
    )
    return StoredParts.of(held, following)


@router.post("/uploads/<slide_id>/complete", tags=["uploads"], summary="Complete the upload")
def complete(slide_id: UUID, caller: Caller, trace: Trace, wiring: Wiring) -> SlideAnswer:
    describe_span("complete upload", slide_id=str(slide_id))
    slide = uploads.complete_upload(
        caller, slide_id, ledger=wiring.ledger, slides=wiring.slides, queues=wiring.queues, traceparent=trace
    )
    return SlideAnswer.of(slide)


@router.delete("/uploads/<slide_id>", tags=["uploads"], summary="Abort the upload", status_code=HTTPStatus.NO_CONTENT)
def abort(slide_id: UUID, caller: Caller, wiring: Wiring) -> Response[None]:
    uploads.abort_upload(caller, slide_id, ledger=wiring.ledger, slides=wiring.slides)
    return Response(status_code=HTTPStatus.NO_CONTENT)
