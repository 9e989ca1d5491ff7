"""Slides."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from lambdas.schemas.common import STORABLE, Answer, Body, Mpp
from wsi.records.pages import Page
from wsi.records.slides import Slide
from wsi.states import SlideState


class SlideToRegister(Body):
    s3_uri: Annotated[
        str, Field(max_length=2048, description="s3://bucket/key in a bucket that the installation allows."), STORABLE
    ]
    mpp: Mpp | None = None


class SlideAnswer(Answer):
    slide_id: str
    name: str
    status: SlideState
    reason: str | None = Field(description="Why it can not be analysed, when REJECTED.")
    sentence: str | None
    files: int
    size: int = Field(description="Bytes of all files.")
    digest: str | None
    mpp: float | None = Field(description="Microns a pixel as the user stated it.")
    inspection: dict[str, Any] | None
    created_at: datetime
    version: int

    @staticmethod
    def of(slide: Slide) -> SlideAnswer:
        return SlideAnswer(
            slide_id=str(slide.id),
            name=slide.name,
            status=slide.state,
            reason=slide.reason,
            sentence=slide.sentence,
            files=len(slide.files),
            size=sum(file.size for file in slide.files),
            digest=slide.digest,
            mpp=slide.mpp,
            inspection=slide.inspection,
            created_at=slide.created_at,
            version=slide.version,
        )


class SlideList(Answer):
    items: list[SlideAnswer]
    next_cursor: str | None

    @staticmethod
    def of(page: Page[Slide]) -> SlideList:
        return SlideList(items=[SlideAnswer.of(slide) for slide in page.items], next_cursor=page.next_cursor)
