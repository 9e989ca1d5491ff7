"""Uploads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from lambdas.schemas.common import Answer, Body, Mpp, Sha256
from lambdas.schemas.slides import FocalPlane, OpticalPath, Picture
from wsi.digests import PART_SIZE
from wsi.errors import Invalid
from wsi.records.slides import Slide
from wsi.uploads.multipart import PartGranted, PartHeld
from wsi.uploads.rules import MAX_FILES, MAX_PARTS_A_CALL, NewFile, PartAsked


class FileToUpload(Body):
    name: str = Field(description="As the user knows it; with its folder for a slide of several files.")
    size: int = Field(gt=0, description="Bytes.")

    def to_request(self) -> NewFile:
        return NewFile(name=self.name, size=self.size)


class NewUpload(Body):
    files: list[FileToUpload] = Field(
        min_length=1,
        description=f"All files of one slide, in any order; at most {MAX_FILES:,}.",
        json_schema_extra={"maxItems": MAX_FILES},  # checked by the domain, whose message names the number
    )
    mpp: Mpp | None = None
    optical_path: OpticalPath | None = None
    focal_plane: FocalPlane | None = None
    picture: Picture | None = None
    deidentify: bool = Field(
        default=False,
        description="Label, macro and what else identifies somebody are removed from the files before the slide is "
        "READY, and the files as they came are deleted. A slide of which that cannot be done is REJECTED.",
    )


class OpenedFile(Answer):
    file: int = Field(description="Number of the file, from 0.")
    upload_id: str | None


class OpenedUpload(Answer):
    slide_id: str
    part_size: int = Field(description="Bytes of every part but a file's last.")
    files: list[OpenedFile]

    @staticmethod
    def of(slide: Slide) -> OpenedUpload:
        files = [OpenedFile(file=number, upload_id=file.upload_id) for number, file in enumerate(slide.files)]
        return OpenedUpload(slide_id=str(slide.id), part_size=PART_SIZE, files=files)


class PartToUpload(Body):
    file: int = Field(ge=0, description="Number of the file, from 0.")
    n: Annotated[int, Field(ge=1, description="Number of the part, from 1.")]
    size: int = Field(gt=0, description="Bytes.")
    sha256: Sha256

    def to_request(self) -> PartAsked:
        return PartAsked(file=self.file, n=self.n, size=self.size, sha256=self.sha256)


class PartsToUpload(Body):
    parts: list[PartToUpload] = Field(
        description=f"At most {MAX_PARTS_A_CALL}.", json_schema_extra={"maxItems": MAX_PARTS_A_CALL}
    )


class GrantedPart(Answer):
    file: int
    n: int
    url: str = Field(description="PUT the part here within 15 minutes.")
    headers: dict[str, str] = Field(description="Signed with the URL: the PUT must carry them.")

    @staticmethod
    def of(part: PartGranted) -> GrantedPart:
        return GrantedPart(file=part.file, n=part.n, url=part.url, headers=dict(part.headers))


class GrantedParts(Answer):
    parts: list[GrantedPart]


class StoredPart(Answer):
    file: int
    n: int
    size: int
    sha256: str | None = Field(description="Hex; null when the whole file is stored already.")

    @staticmethod
    def of(part: PartHeld) -> StoredPart:
        return StoredPart(file=part.file, n=part.n, size=part.size, sha256=part.sha256)


class StoredParts(Answer):
    part_size: int
    items: list[StoredPart]
    next_cursor: str | None

    @staticmethod
    def of(held: Sequence[PartHeld], following: tuple[int, int] | None) -> StoredParts:
        return StoredParts(
            part_size=PART_SIZE,
            items=[StoredPart.of(part) for part in held],
            next_cursor=f"{following[0]}.{following[1]}" if following else None,
        )


def read_part_cursor(cursor: str | None) -> tuple[int, int]:
    """Return (file, part) after which the page of parts begins. Raises Invalid."""
    file, dot, part = (cursor or "0.0").partition(".")
    if not (dot and file.isdecimal() and part.isdecimal()):
        raise Invalid("The cursor is not one that this API gave.")
    return int(file), int(part)
