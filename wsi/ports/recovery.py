"""The operations of a recovery on a database that was restored next to buckets of other names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from wsi.records.jobs import Job
from wsi.records.models import ModelVersion
from wsi.records.registrations import Registration
from wsi.records.results import ResultFile
from wsi.records.slides import Slide


@dataclass(frozen=True, kw_only=True, slots=True)
class FileMove:
    """The new place of a slide's file, by its place in `Slide.files`."""

    position: int
    uri: str
    etag: str | None
    clean_uri: str | None  #: of the clean copy that is being made


@dataclass(frozen=True, kw_only=True, slots=True)
class SlideMove:
    """The changes to a slide, in one transaction."""

    slide_id: UUID
    files: Sequence[FileMove]
    is_upload: bool = False  #: its upload was lost with the region: the slide becomes DELETED
    forgets_copies: bool = False  #: its clean copies were lost half-made: de-identification begins again


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelMove:
    """The new places of a version's package, which may have a registration, a row in the table of versions, or both."""

    owner: UUID | None
    name: str
    version: str
    package_uri: str | None
    files: Sequence[Mapping[str, Any]] | None  #: `Registration.files` as JSON


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredModel:
    owner: UUID | None
    name: str
    version: str
    model: ModelVersion | None
    registration: Registration | None


@dataclass(frozen=True, kw_only=True, slots=True)
class JobResults:
    job: Job
    files: tuple[ResultFile, ...]


class RecoveryLedger(Protocol):
    def list_slides(self, *, after: UUID | None, limit: int) -> tuple[Slide, ...]:
        """List slides by id, without DELETED ones."""
        ...

    def move_slides(self, moves: Sequence[SlideMove]) -> None:
        """Change the places of the slides' files, all or nothing. Slides that wait for inspection are due at once, and
        copies that S3 had restored from the archive count as expired. The audit log lists the slides that moved."""
        ...

    def list_models(self) -> tuple[StoredModel, ...]:
        """List the versions that have a package, by owner, name and version."""
        ...

    def move_models(self, moves: Sequence[ModelMove]) -> None:
        """Change the places of packages, all or nothing. Uploads that were under way are rejected; packages that wait
        for their trial are due at once."""
        ...

    def list_jobs(self, *, after: UUID | None, limit: int) -> tuple[JobResults, ...]:
        """List jobs with their results by id."""
        ...

    def restart_jobs(self, job_ids: Sequence[UUID]) -> tuple[UUID, ...]:
        """Move the live ones of these jobs back to QUEUED, without plan and shards, each with an outbox row to its plan
        queue; return them. A retry of one that FAILED or was CANCELLED takes over no shard: shards were not saved."""
        ...

    def count_records(self) -> Mapping[str, Any]:
        """Return the numbers of all records, and a digest of what no recovery changes: the slides' digests, the jobs'
        pins, the results' SHA-256, the models' digests."""
        ...
