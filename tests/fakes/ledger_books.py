"""What the memory ledger holds, and how a job moves in it: the counterpart of tables and of `moves` in SQL."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from wsi.errors import FailReason
from wsi.ledger_rules import (
    ENTRY_TOPIC,
    PUSH_SECONDS,
    choose_inspection_trace,
    make_deleted_job_error,
    make_job_message,
    make_shard_message,
    make_slide_message,
    make_unknown_job_error,
    make_unknown_slide_error,
    select_receivers,
)
from wsi.planning.plan_queue import PLAN, choose_plan_queue
from wsi.records.deliveries import Delivery, NoticeChannel
from wsi.records.identity import Actor
from wsi.records.jobs import Idempotency, Job, JobEvent, Submission
from wsi.records.models import ModelVersion
from wsi.records.notices import PUSH, SHARD_QUEUES, OutboxRow, make_job_update
from wsi.records.operations.dead_letters import ArrivedLetter, LetterOutcome
from wsi.records.operations.usage import BudgetNotice
from wsi.records.quotas import Quotas, Retention
from wsi.records.registrations import Registration
from wsi.records.results import ResultFile
from wsi.records.shards import Shard
from wsi.records.slides import Slide
from wsi.results.stitch_queue import choose_stitch_queue
from wsi.sources.source import Source
from wsi.states import JOB_MOVES, SHARD_MOVES, SLIDE_MOVES, JobState, ShardState, SlideState, select_sources

Clock = Callable[[], datetime]


@dataclass(kw_only=True, slots=True)
class OutboxEntry:
    row: OutboxRow
    created_at: datetime
    claimed_until: datetime | None = None
    sent_at: datetime | None = None


@dataclass(kw_only=True, slots=True)
class Report:
    """What a worker last said of a shard, and when its lease began."""

    leased_at: datetime
    rate: float | None = None  #: tiles a second
    at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class BookedLine:
    actor: Actor
    action: str
    subject: str
    detail: Mapping[str, Any]
    at: datetime


@dataclass(kw_only=True, slots=True)
class BookedDelivery:
    delivery: Delivery
    woken_at: datetime | None


@dataclass(kw_only=True, slots=True)
class BookedBudgetNotice:
    notice: BudgetNotice
    woken_at: datetime | None = None
    error: str | None = None
    delivered_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class BookedLetter:
    letter: ArrivedLetter
    outcome: LetterOutcome
    arrived_at: datetime


@dataclass(kw_only=True, slots=True)
class WebhookSecret:
    secret: str
    previous: str | None = None
    rotated_at: datetime


@dataclass(kw_only=True, slots=True)
class Usage:
    tiles: int = 0
    worker_seconds: float = 0.0


@dataclass(kw_only=True)
class Books:
    """All state under one lock: a method that holds it is a transaction. Methods check before they change, since
    nothing is rolled back."""

    clock: Clock
    lock: threading.RLock = field(default_factory=threading.RLock)
    users: dict[tuple[str, str], Actor] = field(default_factory=dict[tuple[str, str], Actor])
    keys: dict[tuple[str, str], Actor] = field(default_factory=dict[tuple[str, str], Actor])
    names: dict[str, tuple[UUID, str]] = field(default_factory=dict[str, tuple[UUID, str]])  #: tenant, name by subject
    slides: dict[UUID, Slide] = field(default_factory=dict[UUID, Slide])
    jobs: dict[UUID, Job] = field(default_factory=dict[UUID, Job])
    shards: dict[UUID, list[Shard]] = field(default_factory=dict[UUID, list[Shard]])
    line: dict[tuple[UUID, int], int] = field(default_factory=dict[tuple[UUID, int], int])  #: a number by job and shard
    line_numbers: Iterator[int] = field(default_factory=itertools.count)
    reports: dict[tuple[UUID, int], Report] = field(default_factory=dict[tuple[UUID, int], Report])
    events: list[JobEvent] = field(default_factory=list[JobEvent])
    results: dict[UUID, tuple[ResultFile, ...]] = field(default_factory=dict[UUID, tuple[ResultFile, ...]])
    models: list[ModelVersion] = field(default_factory=list[ModelVersion])
    job_models: dict[UUID, ModelVersion] = field(default_factory=dict[UUID, ModelVersion])  #: by job
    registrations: dict[tuple[UUID, str, str], Registration] = field(
        default_factory=dict[tuple[UUID, str, str], Registration]
    )
    tries: dict[UUID, int] = field(default_factory=dict[UUID, int])  #: that workers began, by registration
    outbox: list[OutboxEntry] = field(default_factory=list[OutboxEntry])
    outbox_ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    idempotency: dict[tuple[UUID, str], tuple[Idempotency, Submission]] = field(
        default_factory=dict[tuple[UUID, str], tuple[Idempotency, Submission]]
    )
    audit: list[BookedLine] = field(default_factory=list[BookedLine])
    audit_marks: dict[tuple[UUID, str, str, str], datetime] = field(
        default_factory=dict[tuple[UUID, str, str, str], datetime]
    )  #: until when by tenant, actor, action and subject
    refusals: dict[tuple[datetime, UUID, str, str], int] = field(
        default_factory=dict[tuple[datetime, UUID, str, str], int]
    )  #: counts by minute, tenant, subject and reason
    anchors: dict[UUID, tuple[int, datetime]] = field(default_factory=dict[UUID, tuple[int, datetime]])
    followers: dict[UUID, list[tuple[NoticeChannel, str]]] = field(
        default_factory=dict[UUID, list[tuple[NoticeChannel, str]]]
    )  #: of a job that was under way when they asked for it
    deliveries: dict[int, BookedDelivery] = field(default_factory=dict[int, BookedDelivery])
    webhook_secrets: dict[UUID, WebhookSecret] = field(default_factory=dict[UUID, WebhookSecret])
    usage: dict[tuple[UUID, date], Usage] = field(default_factory=dict[tuple[UUID, date], Usage])
    usage_details: dict[tuple[UUID, date, str, str, str], Usage] = field(
        default_factory=dict[tuple[UUID, date, str, str, str], Usage]
    )  #: by tenant, day, model, version and requester
    budget_notices: list[BookedBudgetNotice] = field(default_factory=list[BookedBudgetNotice])
    dead_letters: dict[str, BookedLetter] = field(default_factory=dict[str, BookedLetter])  #: by message
    sources: dict[UUID, tuple[Source, ...]] = field(default_factory=dict[UUID, tuple[Source, ...]])
    quotas: dict[UUID | None, Quotas] = field(default_factory=dict[UUID | None, Quotas])  #: None: of all others
    retention: dict[UUID, Retention] = field(default_factory=dict[UUID, Retention])  #: by tenant
    erased: set[UUID] = field(default_factory=set[UUID])  #: slides and jobs without an object
    tiles_expected: dict[UUID, int] = field(default_factory=dict[UUID, int])  #: by job
    pushed_at: dict[UUID, datetime] = field(default_factory=dict[UUID, datetime])  #: by job
    woken_at: dict[tuple[UUID, int | None], datetime] = field(
        default_factory=dict[tuple[UUID, int | None], datetime]
    )  #: by slide, registration or job, and shard
    slides_moved_at: dict[UUID, datetime] = field(default_factory=dict[UUID, datetime])

    def list_visible_models(self, actor: Actor) -> list[ModelVersion]:
        """The tenant's own models and the installation's: what row-level security leaves of them."""
        return [model for model in self.models if model.owner in (None, actor.tenant)]

    def now(self) -> datetime:
        return self.clock().astimezone(UTC)

    def ago(self, seconds: float) -> datetime:
        return self.now() - timedelta(seconds=seconds)

    def hence(self, seconds: float) -> datetime:
        return self.now() + timedelta(seconds=seconds)

    # --- what a tenant may see

    def slide_of(self, actor: Actor, slide_id: UUID) -> Slide:
        slide = self.slides.get(slide_id)
        if slide is None or slide.tenant != actor.tenant:
            raise make_unknown_slide_error()
        return slide

    def job_of(self, actor: Actor, job_id: UUID) -> Job:
        job = self.jobs.get(job_id)
        if job is None or job.tenant != actor.tenant:
            raise make_unknown_job_error()
        if job.deleted_at is not None:
            raise make_deleted_job_error()
        return job

    def note(self, actor: Actor, action: str, subject: str | UUID, detail: Mapping[str, Any] | None = None) -> None:
        line = BookedLine(actor=actor, action=action, subject=str(subject), detail=dict(detail or {}), at=self.now())
        self.audit.append(line)

    # --- moves

    def is_read(self, slide_id: UUID) -> bool:
        """Whether a live job reads the slide."""
        return any(job.slide_id == slide_id and not job.state.is_final for job in self.jobs.values())

    def move_slide(
        self,
        slide_id: UUID,
        to: SlideState,
        *,
        source: SlideState | None = None,
        at_version: int | None = None,
        **changes: Any,
    ) -> Slide | None:
        """From `source` and at this version only, when given."""
        slide = self.slides.get(slide_id)
        if slide is None or slide.state not in select_sources(SLIDE_MOVES, to):
            return None
        if source not in (None, slide.state) or at_version not in (None, slide.version):
            return None
        moved = replace(slide, state=to, version=slide.version + 1, **changes)
        self.slides[slide_id] = moved
        self.woken_at[slide_id, None] = self.slides_moved_at[slide_id] = self.now()
        return moved

    def move_job(
        self, job_id: UUID, to: JobState, *, detail: Mapping[str, Any] | None = None, **changes: Any
    ) -> Job | None:
        job = self.jobs.get(job_id)
        if job is None or job.state not in select_sources(JOB_MOVES, to):
            return None
        now = self.now()
        finished = now if to.is_final else None
        moved = replace(job, state=to, version=job.version + 1, updated_at=now, finished_at=finished, **changes)
        self.jobs[job_id] = moved
        self.announce(moved, detail)
        return moved

    def fail_job(self, job_id: UUID, reason: FailReason, sentence: str) -> bool:
        detail = {"reason": reason.value}
        moved = self.move_job(job_id, JobState.FAILED, detail=detail, reason=reason.value, sentence=sentence)
        if moved is None:
            return False
        self.cancel_shards(job_id)
        return True

    def announce(self, job: Job, detail: Mapping[str, Any] | None = None) -> None:
        self.append_event(job, "moved", {"state": job.state.value, **(detail or {})})
        self.push(job)
        self.woken_at[job.id, None] = self.now()
        if topic := ENTRY_TOPIC.get(job.state):
            self.wake_stage(job, topic)
        if select_receivers(job) or (job.state.is_final and self.followers.get(job.id)):
            self.send(job.tenant, "notify", make_job_message(job.id), job.traceparent)

    def wake_stage(self, job: Job, topic: str) -> None:
        if topic == PLAN:
            queue = choose_plan_queue(self.slides[job.slide_id], job.options)
        else:
            queue = choose_stitch_queue(self.job_models[job.id].card)
        self.send(job.tenant, queue, make_job_message(job.id), job.traceparent)

    def append_event(self, job: Job, kind: str, detail: Mapping[str, Any]) -> None:
        seq = len(self.events) + 1
        self.events.append(
            JobEvent(seq=seq, job_id=job.id, kind=kind, version=job.version, detail=dict(detail), at=self.now())
        )

    # --- what leaves

    def send(self, tenant: UUID, topic: str, body: Mapping[str, Any], traceparent: str) -> None:
        now = self.now()
        row = OutboxRow(
            id=next(self.outbox_ids),
            topic=topic,
            tenant=tenant,
            body=dict(body),
            traceparent=traceparent,
            created_at=now,
        )
        self.outbox.append(OutboxEntry(row=row, created_at=now))

    def send_to_inspection(self, slide: Slide) -> None:
        self.send(slide.tenant, "inspect", make_slide_message(slide.id), choose_inspection_trace(slide, self.now()))

    def push(self, job: Job) -> None:
        self.send(job.tenant, PUSH, make_job_update(job).as_json(), job.traceparent)
        self.pushed_at[job.id] = self.now()

    def add_progress(
        self, job: Job, *, inferred: int, unreadable: int, finished: int, rate: float | None, seconds: float = 0.0
    ) -> Job:
        """Not a move: progress_seq + 1, and a push at most once a second. `seconds` of a lease that ended well."""
        progressed = replace(
            job,
            progress_seq=job.progress_seq + 1,
            updated_at=self.now(),
            tiles_inferred=job.tiles_inferred + inferred,
            tiles_unreadable=job.tiles_unreadable + unreadable,
            shards_remaining=job.shards_remaining - finished,
            tiles_per_second=job.tiles_per_second if rate is None else rate,
            worker_seconds=job.worker_seconds + seconds,
        )
        self.jobs[job.id] = progressed
        if self.pushed_at[job.id] <= self.ago(PUSH_SECONDS):
            self.push(progressed)
        return progressed

    def wake_shards(self, job: Job, indices: list[int]) -> None:
        for shard in self.shards.get(job.id, ()):
            if shard.state is ShardState.QUEUED and shard.index in indices:
                self.line.pop((job.id, shard.index), None)
                self.woken_at[job.id, shard.index] = self.now()
                body = make_shard_message(job.id, shard.index)
                self.send(job.tenant, SHARD_QUEUES[job.priority], body, job.traceparent)

    def cancel_shards(self, job_id: UUID) -> None:
        for shard in self.shards.get(job_id, ()):
            if shard.state in select_sources(SHARD_MOVES, ShardState.CANCELLED):
                self.put_shard(replace(shard, state=ShardState.CANCELLED, lease_until=None))

    def put_shard(self, shard: Shard) -> None:
        self.shards[shard.job_id][shard.index] = shard
