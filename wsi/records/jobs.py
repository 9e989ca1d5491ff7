"""A job: one model over one slide."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from wsi.records.fields import select_known_fields
from wsi.records.model_card import ReadLevel
from wsi.records.outline import Frame, Outline
from wsi.records.slides import Choice
from wsi.states import JobState


class Priority(StrEnum):
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectsFile:
    """A file of objects, each of which has a tile in place of tissue."""

    digest: str  #: hex sha256 of the unpacked file
    frame: Frame  #: what it counts from


@dataclass(frozen=True, kw_only=True, slots=True)
class JobOptions:
    """The options that change the result. They are part of the job's identity, so that equal jobs share one answer."""

    mpp: float | None = None  #: microns a pixel of the slide, stated by the user; wins over the file
    region: tuple[int, int, int, int] | None = None  #: x, y, width, height in level-0 px
    min_tissue: float = 0.1  #: least share of a tile's box inside the slide that must be tissue, 0..1
    allow_upsampling: bool = False  #: take a slide that is coarser than the model's mpp
    outline: Outline | None = None  #: drawn by the user; what lies in it is analysed in place of tissue
    read_level: ReadLevel | None = None  #: in place of the model card's
    fast: bool = False  #: decode JPEG tiles at half their size or less where the model needs no more
    choice: Choice | None = None  #: of the pictures that the slide holds; what was stated with the slide
    objects: ObjectsFile | None = None  #: that are analysed in place of tissue

    def as_json(self) -> dict[str, Any]:
        """Return the options as a part of a job's identity: an option that was added later is included only where it is
        used."""
        value: dict[str, Any] = {
            "mpp": self.mpp,
            "region": list(self.region) if self.region else None,
            "min_tissue": self.min_tissue,
            "allow_upsampling": self.allow_upsampling,
        }
        if self.outline is not None:
            value["outline"] = self.outline.as_json()
        if self.choice is not None:
            value["choice"] = self.choice.as_json()
        if self.read_level is not None:
            value["read_level"] = self.read_level.value
        if self.objects is not None:
            value["objects"] = {"digest": self.objects.digest, "frame": self.objects.frame.value}
        return value | {"fast": True} if self.fast else value

    @staticmethod
    def from_json(value: dict[str, Any]) -> JobOptions:
        region = value.get("region")
        outline, choice, read_level = value.get("outline"), value.get("choice"), value.get("read_level")
        objects = value.get("objects")
        fields: dict[str, Any] = {
            **select_known_fields(JobOptions, value),
            "region": tuple(region) if region else None,
            "outline": Outline.from_json(outline) if outline else None,
            "choice": Choice.from_json(choice) if choice else None,
            "read_level": ReadLevel(read_level) if read_level else None,
            "objects": ObjectsFile(digest=objects["digest"], frame=Frame(objects["frame"])) if objects else None,
        }
        return JobOptions(**fields)


@dataclass(frozen=True, kw_only=True, slots=True)
class JobTerms:
    """The fields that the requester states and that do not decide the result. The request, the row and the client copy
    them as a whole, so that a new one is declared here and in the API's schema."""

    priority: Priority = Priority.NORMAL
    label: str | None = None  #: free text of the user for finding the job again
    notify_email: str | None = None  #: who is told by mail when the job ends: personal data
    notify_webhook: str | None = None  #: URL that is called when the job ends

    def get_terms(self) -> dict[str, Any]:
        """Return the terms by name."""
        return {field.name: getattr(self, field.name) for field in fields(JobTerms)}


@dataclass(frozen=True, kw_only=True, slots=True)
class NewJob(JobTerms):
    """A job as it is requested. The ledger adds times, version and state QUEUED."""

    id: UUID
    slide_id: UUID
    slide_version: int  #: of the slide that the job was made for: its options pin what was stated with it
    model: str
    model_version: str
    model_digest: str
    options: JobOptions = field(default_factory=JobOptions)
    identity: str  #: hex digest of (slide digest, model digest, options, numerics); equal identity, equal result
    traceparent: str  #: W3C trace context made in the API
    retry_of: UUID | None = None
    tiles_expected: int = 0  #: an estimate, for the tenant's quota; the plan says how many they are


@dataclass(frozen=True, kw_only=True, slots=True)
class Job(JobTerms):
    id: UUID
    tenant: UUID
    slide_id: UUID
    model: str
    model_version: str
    model_digest: str
    state: JobState
    reason: str | None = None  #: FailReason, when FAILED
    sentence: str | None = None  #: for people, when FAILED
    options: JobOptions
    identity: str
    traceparent: str
    retry_of: UUID | None = None
    version: int = 1  #: raised by one with every move
    progress_seq: int = 0  #: raised with every progress report; orders updates within a version
    plan_key: str | None = None
    plan_digest: str | None = None
    shards_total: int = 0
    shards_remaining: int = 0
    tiles_planned: int = 0
    tiles_inferred: int = 0  #: counted at shard commits, plus what checkpoints report while shards run
    tiles_unreadable: int = 0
    tiles_per_second: float | None = None
    worker_seconds: float = 0.0  #: of the attempts that finished its shards, one after the other
    first_lease_at: datetime | None = None
    created_by: str
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None = None
    deleted_at: datetime | None = None  #: its ids and counts stay; for the API it no longer exists

    @property
    def progress(self) -> float:
        """The share of the planned tiles that are done, 0..1; 1 only when the job is done."""
        if self.state.is_success:
            return 1.0
        if not self.tiles_planned:
            return 0.0
        return min(0.999, (self.tiles_inferred + self.tiles_unreadable) / self.tiles_planned)

    @property
    def tiles_left(self) -> int:
        """The planned tiles that are not done."""
        return self.tiles_planned - self.tiles_inferred - self.tiles_unreadable

    @property
    def seconds_left(self) -> float | None:
        """The seconds of the tiles that are left, at the job's own rate; None without one, and once it ended."""
        if not self.tiles_per_second or self.state.is_final:
            return None
        return self.tiles_left / self.tiles_per_second


@dataclass(frozen=True, kw_only=True, slots=True)
class JobFilter:
    """A filter of job lists: it keeps the jobs that meet every field that is not None. Each field but `q` is named as
    the job's own."""

    q: str | None = None  #: is part of the label or of the slide's name, case folded
    state: JobState | None = None
    model: str | None = None
    label: str | None = None
    slide_id: UUID | None = None
    created_by: str | None = None  #: an actor's subject

    def get_required_values(self) -> dict[str, Any]:
        """Return the set fields of the filter by name, without `q`: a job's own must equal them."""
        values = {field.name: getattr(self, field.name) for field in fields(JobFilter) if field.name != "q"}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class JobEvent:
    """One line of the append-only history."""

    seq: int
    job_id: UUID
    kind: str  #: "moved", "shard_leased", "shard_committed", "shard_released", "shard_failed", "retried", "dead_letter"
    version: int
    detail: dict[str, Any]
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Idempotency:
    key: str  #: the client's Idempotency-Key header
    body_digest: str  #: hex sha256 of the canonical request body


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """The outcome of a request for a job."""

    job: Job
    replayed: bool = False  #: the same Idempotency-Key and body came before; nothing new was made
    reused: bool = False  #: an equal job had finished; its result is the answer
    shared: bool = False  #: an equal job was under way; its result will be the answer
