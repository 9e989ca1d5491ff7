"""The ledger: the truth about slides, jobs and shards. One method is one transaction.

Two faces, because two database roles stand behind them:

- `TenantLedger` serves the API. Every call names an `Actor`; what belongs to another tenant does not exist for it.
- `SystemLedger` serves the lambdas behind queues, the workers, the relay and the sweep.

Every move of a job raises `jobs.version` by one, appends a `job_events` row and an outbox row with topic "push"
in the same transaction. `None` or `False` from a moving method means that somebody else won the race.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from wsi.errors import FailReason, RejectReason
from wsi.records.deliveries import Delivery, NoticeBrief
from wsi.records.identity import Actor
from wsi.records.jobs import Idempotency, Job, JobEvent, JobFilter, NewJob, Submission
from wsi.records.models import ModelVersion
from wsi.records.notices import OutboxRow
from wsi.records.pages import Page
from wsi.records.restatement import Restatement
from wsi.records.results import ResultFile
from wsi.records.shards import Lease, LeaseRefusal, ShardCount, ShardOutput
from wsi.records.slides import Choice, CleanCopy, Removed, RestoreTier, Slide, SlideFile
from wsi.records.vitals import Vitals
from wsi.states import SlideState


class TenantLedger(Protocol):
    """What the API may do. Raises NotFound for ids of other tenants; role checks are the use cases' work."""

    def create_slide(
        self,
        actor: Actor,
        slide_id: UUID,
        name: str,
        files: Sequence[SlideFile],
        *,
        mpp: float | None,
        choice: Choice | None = None,
        deidentify: bool = False,
    ) -> Slide:
        """A slide in state UPLOADING; its files carry their upload ids."""
        ...

    def register_slide(
        self,
        actor: Actor,
        slide_id: UUID,
        name: str,
        files: Sequence[SlideFile],
        *,
        mpp: float | None,
        digest: str,
        choice: Choice | None = None,
    ) -> Slide:
        """A slide by reference, UPLOADED at once, with an outbox row to "inspect"."""
        ...

    def complete_upload(self, actor: Actor, slide_id: UUID, *, digest: str, etags: Mapping[str, str]) -> Slide:
        """UPLOADING -> UPLOADED with an outbox row to "inspect". `etags` by file uri. Idempotent: a slide that is
        past UPLOADING comes back as it is. Raises Conflict for a DELETED one."""
        ...

    def slide(self, actor: Actor, slide_id: UUID) -> Slide: ...

    def slides(
        self, actor: Actor, *, q: str | None, state: SlideState | None, cursor: str | None, limit: int
    ) -> Page[Slide]:
        """Newest first, without DELETED ones unless asked for. `q` matches the name, case folded."""
        ...

    def delete_slide(self, actor: Actor, slide_id: UUID) -> Slide:
        """any -> DELETED. Idempotent. Raises Conflict while a live job reads the slide."""
        ...

    def restate_slide(self, actor: Actor, slide_id: UUID, restatement: Restatement) -> Slide:
        """READY or REJECTED -> UPLOADED with the new statement and an outbox row to "inspect", without what the last
        inspection found. A new name alone moves nothing; what changes nothing leaves the slide as it is
        (`wsi.ledger_rules.is_inspected_anew`). Raises Conflict while a live job reads the slide, and as
        `wsi.ledger_rules.check_restatable` says."""
        ...

    def archive_slide(self, actor: Actor, slide_id: UUID) -> Slide:
        """READY -> ARCHIVED. Idempotent. Raises Conflict while a live job reads the slide, and in any other state."""
        ...

    def restore_slide(self, actor: Actor, slide_id: UUID, tier: RestoreTier) -> Slide:
        """ARCHIVED -> RESTORING. Idempotent: one that is RESTORING or READY comes back as it is. Raises Conflict in any
        other state."""
        ...

    def submit_job(
        self, actor: Actor, job: NewJob, *, idempotency: Idempotency | None, reuse_finished: bool
    ) -> Submission:
        """A QUEUED job with an outbox row to "plan"; or what came before under the same key, or an equal finished one
        (state COMPLETED or COMPLETED_WITH_UNREADABLE_TILES or NO_TISSUE, same identity, same tenant).

        Raises Conflict when the key came with another body, when the slide is not READY, or when it is no longer at
        `job.slide_version`.
        """
        ...

    def job(self, actor: Actor, job_id: UUID) -> Job: ...

    def jobs(self, actor: Actor, wanted: JobFilter, *, cursor: str | None, limit: int) -> Page[Job]:
        """Newest first."""
        ...

    def job_events(self, actor: Actor, job_id: UUID, *, after: int, limit: int) -> tuple[JobEvent, ...]: ...

    def finished_shards(self, actor: Actor, job_id: UUID) -> tuple[ShardOutput, ...]:
        """DONE shards in the order of their index."""
        ...

    def results(self, actor: Actor, job_id: UUID) -> tuple[ResultFile, ...]: ...

    def cancel_job(self, actor: Actor, job_id: UUID) -> Job:
        """any live state -> CANCELLED, its unfinished shards with it. Idempotent on a CANCELLED job.
        Raises Conflict on another final state."""
        ...

    def deliveries(self, actor: Actor, job_id: UUID) -> tuple[Delivery, ...]:
        """What came of the job's notices, oldest first."""
        ...

    def webhook_secret(self, actor: Actor, *, rotate: bool = False) -> str:
        """With what webhooks of this tenant are signed; made at first use. After `rotate` they are signed with the
        new and with the last one for a day."""
        ...

    def models(self) -> tuple[ModelVersion, ...]:
        """All versions, ordered by name and version. Models belong to the installation, not to a tenant."""
        ...

    def model(self, name: str, version: str | None = None) -> ModelVersion:
        """The named version or the default one. Raises NotFound."""
        ...

    def names(self, actor: Actor, subjects: Collection[str]) -> Mapping[str, str]:
        """What people call those of the actor's tenant: a person's e-mail address, a key's name. Without those that
        are of another tenant, or whose address nobody said."""
        ...

    def audit(self, actor: Actor, action: str, subject: str, detail: Mapping[str, Any] | None = None) -> None:
        """One line of the audit log, for what no other method writes (a result link that was issued)."""
        ...


class Identities(Protocol):
    """What the authorizer may read."""

    def user(self, issuer: str, subject: str) -> Actor | None:
        """The person behind a verified token. None: unknown or disabled."""
        ...

    def api_key(self, prefix: str, secret_sha256: str) -> Actor | None:
        """The service behind a key "tsk_<prefix>_<secret>". None: unknown, revoked or another secret."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanningBrief:
    job: Job
    slide: Slide
    model: ModelVersion


@dataclass(frozen=True, kw_only=True, slots=True)
class StitchBrief:
    job: Job
    shards: tuple[ShardOutput, ...]  #: all of the job's shards, by index


@dataclass(frozen=True, kw_only=True, slots=True)
class Swept:
    """How many things one sweep put right."""

    leases_expired: int = 0
    stitches_woken: int = 0
    messages_resent: int = 0
    uploads_abandoned: int = 0
    given_up: int = 0  #: jobs that FAILED and slides that were REJECTED since nothing moved them
    notices_woken: int = 0  #: jobs with a notice that is due


class SystemLedger(Protocol):
    # --- slides
    def uninspected_slide(self, slide_id: UUID) -> Slide | None:
        """The slide while it is UPLOADED; None when a duplicate message comes late."""
        ...

    def accept_slide(self, slide_id: UUID, inspection: Mapping[str, Any], thumbnail_key: str, *, version: int) -> bool:
        """UPLOADED -> READY, if the slide is still at the `version` that was inspected. False also for a slide that was
        to be de-identified and is not."""
        ...

    def reject_slide(self, slide_id: UUID, reason: RejectReason, sentence: str, *, version: int | None = None) -> bool:
        """UPLOADED -> REJECTED, if the slide is still at the `version` that was inspected (None: at any). One that was
        to be de-identified and is not loses its names, and gets an outbox row to "inspect", so that its files go
        too."""
        ...

    def identified_slide(self, slide_id: UUID) -> Slide | None:
        """The slide while it is REJECTED and its files still say whom they are of."""
        ...

    def begin_deidentification(
        self, slide_id: UUID, name: str, copies: Mapping[int, tuple[str, CleanCopy]], removed: Removed
    ) -> Slide | None:
        """Where each file's clean copy goes, by the file's place in `Slide.files`, with its new name; the others are
        left out. The first call counts: the slide comes back as it is then. None: it is not UPLOADED any more, or is
        not to be de-identified."""
        ...

    def finish_deidentification(
        self, slide_id: UUID, *, digest: str, etags: Mapping[str, str], choice: Choice | None
    ) -> bool:
        """The clean copies are the slide's files now; the others are gone. `etags` by uri of the copy; `choice` is what
        is left to choose in them. Audited as done by who uploaded it. False: somebody else was faster, or the slide is
        not UPLOADED any more."""
        ...

    def restoring_slides(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        """Those RESTORING that nobody has looked at for `seconds`, nor moved within them, the longest first; each then
        counts as looked at (SKIP LOCKED)."""
        ...

    def finish_restore(self, slide_id: UUID, *, until: datetime | None) -> bool:
        """RESTORING -> READY, as `restored_until` says."""
        ...

    def expire_restored(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        """READY -> ARCHIVED: slides whose copies are removed within `seconds` and that no live job reads."""
        ...

    # --- jobs
    def begin_planning(self, job_id: UUID) -> PlanningBrief | None:
        """QUEUED -> PLANNING. A job already PLANNING comes back too (the last planner died); None for any other."""
        ...

    def commit_plan(self, job_id: UUID, *, plan_key: str, plan_digest: str, shard_tiles: Sequence[int]) -> bool:
        """PLANNING -> RUNNING: shards are inserted QUEUED, each with an outbox row to its priority's queue.

        When the job retries another whose plan digest and shard sizes are equal, that one's DONE shards are taken
        over as DONE. If none is left to do, PLANNING -> STITCHING with an outbox row to "stitch" instead.
        """
        ...

    def finish_without_tissue(self, job_id: UUID, results: Sequence[ResultFile]) -> bool:
        """PLANNING -> NO_TISSUE."""
        ...

    def fail_job(self, job_id: UUID, reason: FailReason, sentence: str) -> bool:
        """any live state -> FAILED; unfinished shards are CANCELLED."""
        ...

    # --- shards
    def lease_shard(self, job_id: UUID, index: int, *, owner: str, seconds: float) -> Lease | LeaseRefusal:
        """QUEUED (or RUNNING with an expired lease) -> RUNNING with attempt + 1, if the job is RUNNING."""
        ...

    def extend_lease(self, lease: Lease, *, seconds: float) -> bool:
        """False: the lease is lost, or the job is no longer RUNNING: drop the work."""
        ...

    def record_checkpoint(
        self, lease: Lease, *, key: str, done: int, unreadable: int, tiles_per_second: float | None
    ) -> bool:
        """Names the checkpoint that the next attempt resumes from and reports progress (at most one push a second
        and job). False: the lease is lost."""
        ...

    def commit_shard(self, lease: Lease, *, result_key: str, count: ShardCount, tiles_per_second: float | None) -> bool:
        """RUNNING -> DONE with the attempt as fence; the last one moves the job to STITCHING, with an outbox row to
        "stitch", all in one transaction (F-26). False: the lease is lost."""
        ...

    def release_shard(self, lease: Lease, *, reason: str, failed: bool) -> bool:
        """RUNNING -> QUEUED with an outbox row to the shard's queue. `failed` counts an in-process failure; the third
        makes the shard FAILED and the job FAILED(poison_shard). False: the lease is lost."""
        ...

    # --- results
    def stitch_brief(self, job_id: UUID) -> StitchBrief | None:
        """None unless the job is STITCHING."""
        ...

    def commit_results(self, job_id: UUID, results: Sequence[ResultFile]) -> bool:
        """STITCHING -> COMPLETED, or COMPLETED_WITH_UNREADABLE_TILES when any tile of the job is unreadable."""
        ...

    # --- notices
    def claim_outbox(self, *, limit: int, seconds: float) -> tuple[OutboxRow, ...]:
        """Unsent rows that nobody holds, oldest first, claimed for `seconds` (SKIP LOCKED)."""
        ...

    def mark_sent(self, ids: Sequence[int]) -> None: ...

    def claim_deliveries(self, job_id: UUID, *, seconds: float) -> NoticeBrief | None:
        """The notices of a job that ended, those that are due now, each with its attempt raised; nobody else gets
        them for `seconds`. Makes the tenant's webhook secret when a webhook is due and there is none. None: no such
        job."""
        ...

    def record_delivery(
        self,
        delivery: Delivery,
        *,
        delivered: bool,
        status: int | None,
        error: str | None,
        retry_seconds: float | None,
    ) -> None:
        """What a try came to. Not delivered and `retry_seconds` None: given up. A try that somebody repeated since
        records nothing."""
        ...

    # --- sweep
    def sweep(self, *, upload_days: float, stuck_seconds: float, give_up_seconds: float) -> Swept:
        """Repairs what a death left behind: expired leases go back to QUEUED with an outbox row to their queue;
        RUNNING jobs with nothing remaining move to STITCHING; UPLOADED slides, QUEUED, PLANNING and STITCHING jobs
        and QUEUED shards that have not moved for `stuck_seconds` get their outbox row again (at most once per
        `stuck_seconds`); what still has not moved after `give_up_seconds` FAILED or is REJECTED; uploads older than
        `upload_days` are DELETED. A shard whose lease ran out for the sixth time in a row without a new checkpoint is
        FAILED and its job FAILED(poison_shard), here and in `lease_shard`."""
        ...

    def vitals(self, *, seconds: float, stalled_seconds: float) -> Vitals:
        """How all jobs stand, and what happened within the last `seconds`. Stalled is a job that no move, lease or
        report has touched for `stalled_seconds`; one that waits for a worker while workers compute for others is
        not."""
        ...

    # --- models
    def register_model(self, model: ModelVersion) -> None:
        """Adds a version; the same digest again is no error, another digest under the same version raises Conflict."""
        ...
