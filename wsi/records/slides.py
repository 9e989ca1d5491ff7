"""A slide: the files of one scan, and what inspection found in them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from wsi.records.fields import known_fields
from wsi.states import SlideState


@dataclass(frozen=True, kw_only=True, slots=True)
class SlideFile:
    name: str  #: as the user named it, with its folder for a series ("a.mrxs", "a/Data0000.dat"). PHI: never logged
    uri: str  #: "s3://bucket/key"; the key is ours and says nothing about the patient
    size: int  #: bytes
    upload_id: str | None = None  #: of the multipart upload; None once completed or for a file taken by reference
    etag: str | None = None  #: of the completed object


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """Which picture of a slide is meant that holds several at each place; the user says so. None: it holds one."""

    optical_path: str | None = None  #: its identifier in the file (DICOM's OpticalPathIdentifier)
    focal_plane: int | None = None  #: its number, from 1 for the one nearest the glass

    @staticmethod
    def of(optical_path: str | None, focal_plane: int | None) -> Choice | None:
        """None where neither is chosen."""
        if optical_path is None and focal_plane is None:
            return None
        return Choice(optical_path=optical_path, focal_plane=focal_plane)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> Choice:
        return Choice(**known_fields(Choice, value))


class RestoreTier(StrEnum):
    """How fast S3 brings a file back from Deep Archive; the slow way costs an eighth of the other."""

    STANDARD = "standard"
    BULK = "bulk"

    @property
    def hours(self) -> int:
        """At most, as S3 says."""
        return 12 if self is RestoreTier.STANDARD else 48


@dataclass(frozen=True, kw_only=True, slots=True)
class Slide:
    id: UUID
    tenant: UUID
    name: str  #: display name. PHI: never logged
    state: SlideState
    files: tuple[SlideFile, ...]  #: the first one is the one that is opened
    digest: str | None = None  #: `wsi.digests.slide_digest`; by reference `wsi.slides.referenced_digest`
    mpp: float | None = None  #: microns a pixel that the user states; wins over the file
    choice: Choice | None = None  #: of the pictures that the slide holds, stated by the user
    reason: str | None = None  #: RejectReason, when REJECTED
    sentence: str | None = None  #: for people, when REJECTED
    inspection: dict[str, Any] | None = None  #: `Inspection.as_json()`, when READY
    thumbnail_key: str | None = None  #: JPEG in the results bucket, when READY
    restore_tier: RestoreTier | None = None  #: when RESTORING
    restored_until: datetime | None = None  #: when READY by copies that S3 removes then
    created_by: str
    created_at: datetime
    version: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelInfo:
    width: int  #: px of this level
    height: int  #: px of this level
    downsample: float  #: level-0 px per px of this level
    tile_width: int
    tile_height: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Inspection:
    """What the header and one thumbnail level say. Nothing in it identifies a patient."""

    format: str  #: "svs", "tiff", "ome-tiff", "dicom", ...
    reading_path: str  #: "native" (range reads) or "scratch" (OpenSlide on a local copy)
    vendor: str | None
    width: int
    height: int
    levels: tuple[LevelInfo, ...]
    mpp_x: float | None
    mpp_y: float | None
    mpp_source: str | None  #: "override", "aperio", "tiff-resolution", "openslide", ...
    mpp_conflict: str | None = None  #: for people: why the file's sources of mpp can not all be true; rejects the slide
    path_reason: str | None = None  #: why the slide is read from a copy, when `reading_path` is "scratch"
    #: x, y, width, height in level-0 px of what was scanned, where the format tells; tissue lies inside
    bounds: tuple[int, int, int, int] | None = None
    icc: bool = (
        False  #: the file holds a colour profile. It is recorded and never applied: models see the file's pixels
    )
    tissue_um2: float = 0.0  #: tissue area, square microns
    tissue_fraction: float = 0.0  #: of the slide's area
    warnings: tuple[str, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> Inspection:
        fields: dict[str, Any] = {
            **known_fields(Inspection, value),
            "levels": tuple(LevelInfo(**known_fields(LevelInfo, level)) for level in value["levels"]),
            "bounds": tuple(value["bounds"]) if value.get("bounds") else None,
            "warnings": tuple(value.get("warnings", ())),
        }
        return Inspection(**fields)
