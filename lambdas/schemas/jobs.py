"""Jobs. A job's answer holds every field of a pushed update under the same name, so that the two merge by
(version, progress_seq)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any, cast
from uuid import UUID

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from lambdas.schemas.common import EMAIL_PATTERN, STORABLE, Answer, Body, Mpp
from wsi.access import may_see_receivers
from wsi.jobs.job_results import Linked, LinkedShard
from wsi.jobs.jobs import JobRequest, waits_for_capacity
from wsi.notices.webhooks import LONGEST_URL
from wsi.planning.estimate import Estimate, compute_cost
from wsi.planning.region_geojson import read_geojson
from wsi.records.deliveries import Delivery, NoticeChannel
from wsi.records.expectations import NOTHING_KNOWN, Expectation
from wsi.records.identity import Actor
from wsi.records.jobs import Job, JobEvent, JobOptions, Priority, Submission
from wsi.records.model_card import OutputKind, ReadLevel
from wsi.records.notices import make_job_update
from wsi.records.outline import Frame
from wsi.records.pages import Page
from wsi.states import JobState

Offset = Annotated[int, Field(ge=0, le=2**31 - 1)]
Extent = Annotated[int, Field(gt=0, le=2**31 - 1)]


def _object_or_array(value: object) -> object:
    if isinstance(value, dict | list):
        return cast("object", value)
    raise PydanticCustomError("our_geojson", "must be GeoJSON: an object, or an array of features")


GeoJson = Annotated[dict[str, Any] | list[Any], BeforeValidator(_object_or_array)]


class OptionsBody(Body):
    min_tissue: float = Field(default=0.1, ge=0, le=1, description="Least share of a tile that must be tissue.")
    allow_upsampling: bool = Field(default=False, description="Take a slide that is coarser than the model's mpp.")
    read_level: ReadLevel | None = Field(
        default=None,
        description="suitable: the coarsest level that is fine enough for the model; finest: level 0, slower. Without "
        "it, what the model's card says.",
    )
    fast: bool = Field(
        default=False,
        description="Decode JPEG tiles at half their size or less where the model needs no more: quicker, and a few "
        "values off what exact decoding gives.",
    )


class NotifyBody(Body):
    email: Annotated[
        str | None,
        Field(max_length=254, pattern=EMAIL_PATTERN, description="Who is told by mail when it ends."),
        STORABLE,
    ] = None
    webhook: Annotated[
        str | None,
        Field(
            max_length=LONGEST_URL,
            description="An https address, at port 443 or 8443, that is called when the job ends, signed as Standard "
            "Webhooks says.",
        ),
        STORABLE,
    ] = None


class NewJobBody(Body):
    slide_id: UUID
    model: Annotated[str, Field(min_length=1, max_length=200), STORABLE]
    model_version: Annotated[
        str | None, Field(max_length=100, description="Without it, the default version."), STORABLE
    ] = None
    priority: Priority = Priority.NORMAL
    mpp: Mpp | None = None
    region: tuple[Offset, Offset, Extent, Extent] | None = Field(
        default=None, description="x, y, width, height in level-0 pixels; without it, the whole slide."
    )
    region_geojson: GeoJson | None = Field(
        default=None,
        description="GeoJSON in level-0 pixels: a Polygon or MultiPolygon, features of them, or an array of features, "
        "as QuPath exports annotations. What lies in it is analysed in place of the tissue that detection finds.",
    )
    region_frame: Frame = Field(
        default=Frame.FULL,
        description="What region_geojson counts from: the corner of level 0, or as QuPath shows the slide, that of "
        "what was scanned.",
    )
    options: OptionsBody = OptionsBody()
    label: Annotated[
        str | None, Field(max_length=200, description="Free text for finding the job again."), STORABLE
    ] = None
    notify: NotifyBody = NotifyBody()
    force: bool = Field(default=False, description="Compute again although an equal job has finished.")

    def to_request(self) -> JobRequest:
        """Return the request. Raises Invalid for GeoJSON that is no region."""
        drawn = read_geojson(self.region_geojson, self.region_frame) if self.region_geojson is not None else None
        return JobRequest(
            slide_id=self.slide_id,
            model=self.model,
            model_version=self.model_version,
            priority=self.priority,
            options=JobOptions(
                mpp=self.mpp,
                region=self.region,
                outline=drawn.outline if drawn is not None else None,
                min_tissue=self.options.min_tissue,
                allow_upsampling=self.options.allow_upsampling,
                read_level=self.options.read_level,
                fast=self.options.fast,
            ),
            label=self.label,
            force=self.force,
            notify_email=self.notify.email,
            notify_webhook=self.notify.webhook,
            warnings=drawn.notes if drawn is not None else (),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class JobContext:
    """The parts of an answer on a job that are not in the job's own row."""

    now: datetime
    names: Mapping[str, str]  #: of the jobs' submitters, by subject, as far as the caller may see them
    caller: Actor
    dollars_per_gpu_hour: float
    expected: Expectation = NOTHING_KNOWN  #: of the one job that is asked about


class JobAnswer(Answer):
    job_id: str
    tenant: str
    slide_id: str
    status: JobState
    version: int
    progress_seq: int
    progress: float = Field(description="0 to 1.")
    tiles_planned: int
    tiles_inferred: int
    tiles_unreadable: int
    tiles_per_second: float | None
    eta_seconds: float | None
    reason: str | None
    sentence: str | None
    waiting_for_capacity: bool = Field(description="Planned, but no worker has begun within a minute.")
    expected_start_at: datetime | None = Field(
        description="When its first tile is expected to be scored. An estimate from the queue and no promise: urgent "
        "jobs of others come first. Null once it began, if nothing is known, and in all answers but that about one "
        "job."
    )
    expected_end_at: datetime | None = Field(
        description="When its results are expected, likewise. Null before it is planned, and once it ended."
    )
    waiting_for: str | None = Field(
        description="What it waits for, in a few words: '12 jobs are before it'. Null while it is computed; otherwise "
        "as expected_start_at."
    )
    model: str
    model_version: str
    model_digest: str
    priority: Priority
    options: dict[str, Any]
    label: str | None
    retry_of: str | None
    notify: NotifyBody = Field(
        description="Only for admins, and for the analyst who requested the job, unless it is a retry."
    )
    shards_total: int
    shards_remaining: int
    traceparent: str
    created_by: str | None = Field(
        description="Who asked for it: a person's e-mail address or a key's name. Null where it was never told, and "
        "for viewers if it is another person."
    )
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    worker_seconds: float = Field(description="Of the workers' attempts that finished its parts, so far.")
    dollars: float | None = Field(description="What they cost at the installation's price. Null until it ends.")

    @staticmethod
    def of(job: Job, beside: JobContext) -> JobAnswer:
        return JobAnswer(
            **make_job_update(job).as_json(),
            sentence=job.sentence,
            waiting_for_capacity=waits_for_capacity(job, beside.now),
            expected_start_at=beside.expected.start_at,
            expected_end_at=beside.expected.end_at,
            waiting_for=beside.expected.waiting_for,
            model=job.model,
            model_version=job.model_version,
            model_digest=job.model_digest,
            priority=job.priority,
            options=_summarise_options(job.options),
            label=job.label,
            retry_of=str(job.retry_of) if job.retry_of else None,
            notify=_show_receivers(job, beside.caller),
            shards_total=job.shards_total,
            shards_remaining=job.shards_remaining,
            traceparent=job.traceparent,
            created_by=beside.names.get(job.created_by),
            created_at=job.created_at,
            updated_at=job.updated_at,
            finished_at=job.finished_at,
            worker_seconds=round(job.worker_seconds, 3),
            dollars=compute_cost(job.worker_seconds, beside.dollars_per_gpu_hour) if job.state.is_final else None,
        )


def _show_receivers(job: Job, caller: Actor) -> NotifyBody:
    if may_see_receivers(caller, job.created_by, is_retry=job.retry_of is not None):
        return NotifyBody(email=job.notify_email, webhook=job.notify_webhook)
    return NotifyBody()


def _summarise_options(options: JobOptions) -> dict[str, Any]:
    """Return the options as the job has them; a drawn region by its size and digest, as its points would fill the
    answer."""
    value = options.as_json()
    if options.outline is not None:
        text = json.dumps(value["outline"], sort_keys=True, separators=(",", ":"))
        value["outline"] = {
            "frame": options.outline.frame.value,
            "polygons": len(options.outline.polygons),
            "points": options.outline.vertices,
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        }
    return value


class JobSubmitted(JobAnswer):
    replayed: bool = Field(description="The same Idempotency-Key came before; this is the job of that time.")
    reused: bool = Field(description="An equal job had finished; its result is the answer.")
    shared: bool = Field(description="An equal job was under way; its result will be the answer.")
    warnings: list[str] = Field(description="What of region_geojson was left out or changed; not stored.")

    @staticmethod
    def of_submission(submission: Submission, beside: JobContext, warnings: Sequence[str] = ()) -> JobSubmitted:
        return JobSubmitted(
            **JobAnswer.of(submission.job, beside).model_dump(),
            replayed=submission.replayed,
            reused=submission.reused,
            shared=submission.shared,
            warnings=list(warnings),
        )


class EstimateAnswer(Answer):
    tiles: int
    shards: int
    seconds: float = Field(description="Of one worker, all shards one after the other.")
    dollars: float
    measured: bool = Field(
        description="By a rate that was measured. False: nobody measured the model's, and seconds and dollars are "
        "those of a slow one."
    )
    exact: bool = Field(
        description="The tiles are those that the job will have. False for a near count: planning will look for "
        "tissue anew, since the job states another mpp than the slide or an older version inspected it; or the drawn "
        "region has more edges than a dry run takes time for."
    )
    warnings: list[str] = Field(description="What of region_geojson was left out or changed.")

    @staticmethod
    def of(estimate: Estimate, warnings: Sequence[str] = ()) -> EstimateAnswer:
        return EstimateAnswer(**asdict(estimate), warnings=list(warnings))


class JobList(Answer):
    items: list[JobAnswer]
    next_cursor: str | None

    @staticmethod
    def of(page: Page[Job], beside: JobContext) -> JobList:
        return JobList(items=[JobAnswer.of(job, beside) for job in page.items], next_cursor=page.next_cursor)


class EventAnswer(Answer):
    seq: int
    kind: str
    version: int
    detail: dict[str, Any]
    at: datetime

    @staticmethod
    def of(event: JobEvent) -> EventAnswer:
        return EventAnswer(seq=event.seq, kind=event.kind, version=event.version, detail=event.detail, at=event.at)


class EventList(Answer):
    items: list[EventAnswer]
    next_cursor: str | None


class DeliveryAnswer(Answer):
    channel: NoticeChannel
    target: str | None = Field(
        description="Only for admins, and for the analyst who requested the job, unless it is a retry."
    )
    attempt: int = Field(description="Tries so far.")
    status: int | None = Field(description="What the webhook's receiver answered last.")
    error: str | None
    next_attempt_at: datetime | None = Field(description="None once delivered, or given up.")
    delivered_at: datetime | None

    @staticmethod
    def of(delivery: Delivery, *, shows_receiver: bool) -> DeliveryAnswer:
        return DeliveryAnswer(
            channel=delivery.channel,
            target=delivery.target if shows_receiver else None,
            attempt=delivery.attempt,
            status=delivery.status,
            error=delivery.error,
            next_attempt_at=delivery.due_at,
            delivered_at=delivery.delivered_at,
        )


class DeliveryList(Answer):
    items: list[DeliveryAnswer]
    next_cursor: str | None


class PartialShard(Answer):
    shard: int
    tiles: int
    url: str = Field(description="The shard's scores (npz), for 15 minutes.")

    @staticmethod
    def of(linked: LinkedShard) -> PartialShard:
        return PartialShard(shard=linked.shard.index, tiles=linked.shard.tiles, url=linked.url)


class PartialResults(Answer):
    items: list[PartialShard]
    after: str = Field(description="Give it back to get only the shards that finished since.")
    plan_url: str | None = Field(
        description="The plan (gzipped JSON), for 15 minutes: where each tile number of the shards lies. Null without "
        "shards."
    )
    output: OutputKind = Field(
        description="What the job's model gives. Shards of an `embedding` or a `detection` are not listed: the job "
        "counts their tiles, and they are results at its end."
    )


class ResultAnswer(Answer):
    name: str
    size: int
    sha256: str
    media_type: str
    url: str = Field(description="For 15 minutes.")

    @staticmethod
    def of(linked: Linked) -> ResultAnswer:
        file = linked.file
        return ResultAnswer(
            name=file.name, size=file.size, sha256=file.sha256, media_type=file.media_type, url=linked.url
        )


class ResultList(Answer):
    items: list[ResultAnswer]
    next_cursor: str | None
