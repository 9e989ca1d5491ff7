"""Slides."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from lambdas.schemas.common import STORABLE, Answer, Body, Mpp
from wsi.errors import Invalid
from wsi.ledger_rules import describe_archive
from wsi.records.pages import Page
from wsi.records.restatement import Restatement
from wsi.records.slides import RestoreTier, Slide
from wsi.states import SlideState

OpticalPath = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        description="Of a DICOM slide that holds several optical paths, the identifier of the one that is meant.",
    ),
    STORABLE,
]
FocalPlane = Annotated[
    int,
    Field(
        ge=1,
        le=10_000,
        description="Of a DICOM slide that holds several planes of focus, the number of the one that is meant, from 1 "
        "for the one nearest the glass.",
    ),
]

Picture = Annotated[
    int,
    Field(
        ge=1,
        le=10_000,
        description="Of a file that holds several scans, the number of the image that is meant, from 1, as the refusal "
        "lists them.",
    ),
]


class SlideToRegister(Body):
    s3_uri: Annotated[
        str,
        Field(
            max_length=2048,
            description="s3://bucket/key in a source of your tenant: a bucket or prefix that the operator gave it.",
        ),
        STORABLE,
    ]
    mpp: Mpp | None = None
    optical_path: OpticalPath | None = None
    focal_plane: FocalPlane | None = None
    picture: Picture | None = None


class SlideToRestate(Body):
    """A new statement about a slide. Fields that are left out stay; null takes back what was stated, so that the file's
    own value holds again."""

    mpp: Mpp | None = None
    optical_path: OpticalPath | None = None
    focal_plane: FocalPlane | None = None
    picture: Picture | None = None
    name: Annotated[
        str | None, Field(description="What lists call the slide, up to 255 characters. It alone inspects nothing.")
    ] = None

    def to_restatement(self) -> Restatement:
        given = {name: getattr(self, name) for name in self.model_fields_set}
        if given.get("name", "") is None:
            raise Invalid("A slide has a name: `name` can be replaced and not be taken away.")
        return Restatement(**given)


class SlideToRestore(Body):
    tier: RestoreTier = Field(
        default=RestoreTier.STANDARD,
        description="standard: up to 12 hours. bulk: up to 48 hours, at about an eighth of the price.",
    )


class LegalHold(Body):
    held: bool = Field(
        description="True: neither the slide nor its jobs can be deleted, by anybody or by age. Why is not recorded "
        "here: keep the reason with your case."
    )


class RemovedParts(Answer):
    images: int = Field(description="Label, macro and other pictures beside the slide.")
    tags: int = Field(description="Values taken away, blanked or replaced.")
    files: int = Field(description="Of a series, files that held something else than the slide.")


class SlideAnswer(Answer):
    slide_id: str
    name: str
    status: SlideState
    reason: str | None = Field(description="Which rule it broke, when REJECTED.")
    sentence: str | None = Field(description="Why it cannot be analysed, when REJECTED, ARCHIVED or RESTORING.")
    files: int
    size: int = Field(description="Bytes of all files.")
    digest: str | None
    mpp: float | None = Field(description="Microns a pixel as the user stated it.")
    optical_path: str | None = Field(description="The optical path that the user chose.")
    focal_plane: int | None = Field(description="The plane of focus that the user chose.")
    picture: int | None = Field(description="The number of the image that the user chose.")
    deidentify: bool = Field(description="It was asked that what identifies somebody is removed before it is READY.")
    deidentified: bool = Field(description="That is done, and its name is its id.")
    removed: RemovedParts | None = Field(description="What that removed, as counts.")
    inspection: dict[str, Any] | None
    restored_until: datetime | None = Field(
        description="Of a slide that was restored: a day before then it goes back to the archive."
    )
    legal_hold: bool = Field(description="An admin holds it: neither it nor its jobs can be deleted.")
    created_at: datetime
    version: int

    @staticmethod
    def of(slide: Slide) -> SlideAnswer:
        return SlideAnswer(
            slide_id=str(slide.id),
            name=slide.name,
            status=slide.state,
            reason=slide.reason,
            sentence=slide.sentence or describe_archive(slide),
            files=len(slide.files),
            size=sum(file.size for file in slide.files),
            digest=slide.digest,
            mpp=slide.mpp,
            optical_path=slide.choice and slide.choice.optical_path,
            focal_plane=slide.choice and slide.choice.focal_plane,
            picture=slide.choice and slide.choice.picture,
            deidentify=slide.deidentify,
            deidentified=slide.deidentified,
            removed=RemovedParts(**slide.removed.as_json()) if slide.removed and slide.deidentified else None,
            inspection=_strip_tile_counts(slide.inspection),
            restored_until=slide.restored_until,
            legal_hold=slide.legal_hold,
            created_at=slide.created_at,
            version=slide.version,
        )


def _strip_tile_counts(inspection: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the facts without the table that inspection stored for dry runs before these counted on the mask."""
    return inspection and {name: value for name, value in inspection.items() if name != "tile_counts"}


class SlideList(Answer):
    items: list[SlideAnswer]
    next_cursor: str | None

    @staticmethod
    def of(page: Page[Slide]) -> SlideList:
        return SlideList(items=[SlideAnswer.of(slide) for slide in page.items], next_cursor=page.next_cursor)
