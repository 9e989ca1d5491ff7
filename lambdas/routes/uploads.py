"""Uploads: begin, sign parts, resume, complete, abort."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.requests import Caller, Cursor, Limit, Trace, Wiring
from lambdas.schemas.slides import SlideAnswer
from lambdas.schemas.uploads import (
    GrantedPart,
    GrantedParts,
    NewUpload,
    OpenedUpload,
    PartsToUpload,
    StoredPart,
    StoredParts,
)
from wsi import uploads
from wsi.digests import PART_SIZE
from wsi.errors import Invalid
from wsi.records.slides import Choice

router = APIGatewayRouter()


@router.post("/uploads", tags=["uploads"], summary="Begin an upload", status_code=HTTPStatus.CREATED)
def begin(body: NewUpload, caller: Caller, wiring: Wiring) -> OpenedUpload:
    files = [file.asked() for file in body.files]
    choice = Choice.of(body.optical_path, body.focal_plane, body.picture)
    asked: dict[str, Any] = {"mpp": body.mpp, "choice": choice, "deidentify": body.deidentify}
    slide = uploads.open_upload(caller, files, **asked, ledger=wiring.ledger, slides=wiring.slides)
    return OpenedUpload.of(slide)


@router.post("/uploads/<slide_id>/parts", tags=["uploads"], summary="URLs for up to 100 parts")
def grant(slide_id: UUID, body: PartsToUpload, caller: Caller, wiring: Wiring) -> GrantedParts:
    asked = [part.asked() for part in body.parts]
    granted = uploads.grant_parts(caller, slide_id, asked, ledger=wiring.ledger, slides=wiring.slides)
    return GrantedParts(parts=[GrantedPart.of(part) for part in granted])


@router.get("/uploads/<slide_id>/parts", tags=["uploads"], summary="The parts that have arrived, for resuming")
def stored(slide_id: UUID, caller: Caller, wiring: Wiring, cursor: Cursor = None, limit: Limit = 100) -> StoredParts:
    held, following = uploads.stored_parts(
        caller, slide_id, after=_place(cursor), limit=limit, ledger=wiring.ledger, slides=wiring.slides
    )
    return StoredParts(
        part_size=PART_SIZE,
        items=[StoredPart.of(part) for part in held],
        next_cursor=f"{following[0]}.{following[1]}" if following else None,
    )


@router.post("/uploads/<slide_id>/complete", tags=["uploads"], summary="Complete the upload")
def complete(slide_id: UUID, caller: Caller, trace: Trace, wiring: Wiring) -> SlideAnswer:
    slide = uploads.complete_upload(
        caller, slide_id, ledger=wiring.ledger, slides=wiring.slides, queues=wiring.queues, traceparent=trace
    )
    return SlideAnswer.of(slide)


@router.delete("/uploads/<slide_id>", tags=["uploads"], summary="Abort the upload", status_code=HTTPStatus.NO_CONTENT)
def abort(slide_id: UUID, caller: Caller, wiring: Wiring) -> Response[None]:
    uploads.abort_upload(caller, slide_id, ledger=wiring.ledger, slides=wiring.slides)
    return Response(status_code=HTTPStatus.NO_CONTENT)


def _place(cursor: str | None) -> tuple[int, int]:
    """(file, part) after which the page begins."""
    file, dot, part = (cursor or "0.0").partition(".")
    if not (dot and file.isdecimal() and part.isdecimal()):
        raise Invalid("The cursor is not one that this API gave.")
    return int(file), int(part)
