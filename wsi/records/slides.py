"""A slide: the files of one scan, and what inspection found in them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from wsi.records.fields import select_known_fields
from wsi.states import SlideState


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanCopy:
    """The de-identified copy of a file, while it is being written."""

    uri: str
    upload_id: str  #: of the multipart upload


@dataclass(frozen=True, kw_only=True, slots=True)
class Removed:
    """Counts of what de-identification removes from a slide: never the values themselves."""

    images: int = 0  #: label, macro and other pictures beside the slide
    tags: int = 0  #: values taken away, blanked or replaced
    files: int = 0  #: of a series, that hold something else than the slide

    def __add__(self, other: Removed) -> Removed:
        return Removed(images=self.images + other.images, tags=self.tags + other.tags, files=self.files + other.files)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> Removed:
        return Removed(**select_known_fields(Removed, value))


@dataclass(frozen=True, kw_only=True, slots=True)
class SlideFile:
    name: str  #: as the user named it, with its folder for a series ("a.mrxs", "a/Data0000.dat"). PHI: never logged
    uri: str  #: "s3://bucket/key"; the key is ours and says nothing about the patient
    size: int  #: bytes
    upload_id: str | None = None  #: of the multipart upload; None once completed or for a file taken by reference
    etag: str | None = None  #: of the completed object
    clean: CleanCopy | None = None  #: while it is being de-identified; None: it is not, or it is left out


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The image that the user chose from a slide that holds several. A field is None where the user chose nothing."""

    optical_path: str | None = None  #: its identifier in the file (DICOM's OpticalPathIdentifier)
    focal_plane: int | None = None  #: its number, from 1 for the one nearest the glass
    picture: int | None = None  #: its number among the scans that the file holds, from 1, as a refusal lists them

    @staticmethod
    def of(optical_path: str | None, focal_plane: int | None, picture: int | None = None) -> Choice | None:
        """Return the choice, or None where nothing is chosen."""
        if optical_path is None and focal_plane is None and picture is None:
            return None
        return Choice(optical_path=optical_path, focal_plane=focal_plane, picture=picture)

    def as_json(self) -> dict[str, Any]:
        """Return the choice as a part of a job's identity: `picture`, which was added later, only where one was
        chosen."""
        value = {"optical_path": self.optical_path, "focal_plane": self.focal_plane}
        return value if self.picture is None else value | {"picture": self.picture}

    @staticmethod
    def from_json(value: dict[str, Any]) -> Choice:
        return Choice(**select_known_fields(Choice, value))


class RestoreTier(StrEnum):
    """The speed at which S3 restores a file from Deep Archive; the slow way costs an eighth of the other."""

    STANDARD = "standard"
    BULK = "bulk"

    @property
    def hours(self) -> int:
        """The most hours that a restore takes, as S3 states it."""
        return 12 if self is RestoreTier.STANDARD else 48


@dataclass(frozen=True, kw_only=True, slots=True)
class Slide:
    id: UUID
    tenant: UUID
    name: str  #: display name. PHI: never logged
    state: SlideState
    files: tuple[SlideFile, ...]  #: as they came; `wsi.slide.files.choosing.find_slide` tells which one is opened
    digest: str | None = None  #: `wsi.digests.compute_slide_digest`; by reference `compute_reference_digest`
    mpp: float | None = None  #: microns a pixel that the user states; wins over the file
    choice: Choice | None = None  #: of the pictures that the slide holds, stated by the user
    deidentify: bool = False  #: the user asked that label and identifiers are removed before it is READY
    removed: Removed | None = None  #: once that has begun; its files that have no clean copy are left out then
    deidentified: bool = False  #: it is done, and the files as they came are gone
    reason: str | None = None  #: RejectReason, when REJECTED
    sentence: str | None = None  #: for people, when REJECTED
    inspection: dict[str, Any] | None = None  #: `Inspection.as_json()`, when READY
    thumbnail_key: str | None = None  #: JPEG in the results bucket, when READY
    restore_tier: RestoreTier | None = None  #: when RESTORING
    restored_until: datetime | None = None  #: when READY by copies that S3 removes then
    legal_hold: bool = False  #: neither the slide nor its jobs may be deleted
    created_by: str
    created_at: datetime
    version: int = 1
    traceparent: str | None = None  #: of the request that created it; None: older than its record


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelInfo:
    width: int  #: px of this level
    height: int  #: px of this level
    downsample: float  #: level-0 px per px of this level
    tile_width: int
    tile_height: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Inspection:
    """The facts that the header and one thumbnail level give. Nothing in it identifies a patient."""

    format: str  #: "svs", "tiff", "ome-tiff", "dicom", ...
    reading_path: str  #: "native" (range reads) or "scratch" (OpenSlide on a local copy)
    vendor: str | None
    width: int
    height: int
    levels: tuple[LevelInfo, ...]
    mpp_x: float | None
    mpp_y: float | None
    mpp_source: str | None  #: "override", "aperio", "tiff-resolution", "openslide", ...
    mpp_conflict: str | None = None  #: for people: why the file's sources of mpp cannot all be true; rejects the slide
    #: A field, its number and its unit that look like a scale and are not understood, where the file states no other:
    #: never a free text.
    mpp_unread: str | None = None
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
            **select_known_fields(Inspection, value),
            "levels": tuple(LevelInfo(**select_known_fields(LevelInfo, level)) for level in value["levels"]),
            "bounds": tuple(value["bounds"]) if value.get("bounds") else None,
            "warnings": tuple(value.get("warnings", ())),
        }
        return Inspection(**fields)
