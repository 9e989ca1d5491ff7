"""The ledger: the truth about slides, jobs and shards. One method is one transaction, but for `sweep`.

Two protocols, since two database roles use them:

- `TenantLedger` serves the API. Every call names an `Actor`; what belongs to another tenant does not exist for it.
- `SystemLedger` serves the lambdas behind queues, the workers, the relay and the sweep.

Every move of a job raises `jobs.version` by one, appends a `job_events` row and an outbox row with topic "push" in the
same transaction. A moving method returns `None` or `False` if another process won the race.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from wsi.errors import FailReason, RejectReason
from wsi.ports.audit import SystemAudit, TenantAudit
from wsi.ports.dead_letters import SystemDeadLetters
from wsi.ports.erasure import SystemErasure, TenantErasure
from wsi.ports.models import TenantModels
from wsi.ports.registrations import SystemRegistrations, TenantRegistrations
from wsi.ports.spending import SystemSpending, TenantSpending
from wsi.records.deliveries import Delivery, NoticeBrief
from wsi.records.expectations import QueueState
from wsi.records.identity import Actor
from wsi.records.jobs import Idempotency, Job, JobEvent, JobFilter, NewJob, Submission
from wsi.records.models import ModelVersion
from wsi.records.notices import OutboxRow
from wsi.records.operations.vitals import Vitals
from wsi.records.pages import Page
from wsi.records.restatement import Restatement
from wsi.records.results import ResultFile
from wsi.records.shards import Lease, LeaseRefusal, ShardCount, ShardOutput
from wsi.records.slides import Choice, CleanCopy, Removed, RestoreTier, Slide, SlideFile
from wsi.sources.source import SourceRecords
from wsi.states import SlideState


class TenantLedger(
    TenantModels, TenantRegistrations, TenantSpending, TenantErasure, TenantAudit, SourceRecords, Protocol
):
    """The API's operations. They raise NotFound for ids of other tenants; the use cases check roles."""

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
        traceparent: str | None = None,
    ) -> Slide:
        """Create a slide in state UPLOADING; its files carry their upload ids. Raises TooManyRequests
        beyond a quota."""
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
        traceparent: str | None = None,
    ) -> Slide:
        """Register a slide by reference: it is UPLOADED at once, with an outbox row to "inspect". Raises SourceOutside
        if a file lies outside the tenant's sources."""
        ...

    def complete_upload(self, actor: Actor, slide_id: UUID, *, digest: str, etags: Mapping[str, str]) -> Slide:
        """Move a slide from UPLOADING to UPLOADED, with an outbox row to "inspect". `etags` by file uri. Idempotent: a
        slide that is past UPLOADING is returned unchanged. Raises Conflict for a DELETED one."""
        ...

    def get_slide(self, actor: Actor, slide_id: UUID) -> Slide: ...

    def list_slides(
        self, actor: Actor, *, q: str | None, state: SlideState | None, cursor: str | None, limit: int
    ) -> Page[Slide]:
        """List slides, newest first, without DELETED ones unless `state` is DELETED. `q` matches a part of the name,
        case folded."""
        ...

    def restate_slide(self, actor: Actor, slide_id: UUID, restatement: Restatement) -> Slide:
        """Move a slide from READY or REJECTED to UPLOADED with the new statement and an outbox row to "inspect", and
        clear what the last inspection found. A new name alone only renames the slide; a statement that changes nothing
        returns it unchanged (`wsi.ledger_rules.needs_reinspection`). Raises Conflict while a live job reads the slide,
        and as `wsi.ledger_rules.check_restatable` does."""
        ...

    def archive_slide(self, actor: Actor, slide_id: UUID) -> Slide:
        """Move a slide from READY to ARCHIVED. Idempotent. Raises Conflict while a live job reads the slide, and in any
        other state."""
        ...

    def restore_slide(self, actor: Actor, slide_id: UUID, tier: RestoreTier) -> Slide:
        """Move a slide from ARCHIVED to RESTORING. Idempotent: a RESTORING or READY slide is returned unchanged. Raises
        Conflict in any other state."""
        ...

    def submit_job(
        self,
        actor: Actor,
        job: NewJob,
        *,
        idempotency: Idempotency | None,
        reuse_finished: bool,
        share_live: bool = False,
        dollars_per_gpu_hour: float | None = None,
    ) -> Submission:
        """Create a QUEUED job with an outbox row to its plan queue. Or return the job that came before under the same
        key, or with `reuse_finished` an equal finished one (state COMPLETED or COMPLETED_WITH_UNREADABLE_TILES or
        NO_TISSUE, same identity, same tenant), or else with `share_live` an equal one that is under way. Of equal
        requests at once that share, one creates the job. A job that is shared notifies these requesters too, and
        becomes as urgent as they ask for. `dollars_per_gpu_hour`: what the tenant's budget is counted at; None: it is
        not looked at.

        Raises Conflict when the key came with another body, when the slide is not READY, or when it is no longer at
        `job.slide_version`; for a new job, Forbidden for a priority that the tenant may not ask for, and
        TooManyRequests beyond a quota.
        """
        ...

    def get_job(self, actor: Actor, job_id: UUID) -> Job:
        """Return the job. Raises NotFound, also once it was deleted."""
        ...

    def measure_queue(self, job_id: UUID) -> QueueState:
        """Count what is before this job in the queue and the workers that are up, over all tenants. Numbers alone: it
        may be asked of any job."""
        ...

    def list_jobs(self, actor: Actor, wanted: JobFilter, *, cursor: str | None, limit: int) -> Page[Job]:
        """List jobs, newest first."""
        ...

    def list_job_events(self, actor: Actor, job_id: UUID, *, after: int, limit: int) -> tuple[JobEvent, ...]: ...

    def list_finished_shards(self, actor: Actor, job_id: UUID) -> tuple[ShardOutput, ...]:
        """List the job's DONE shards by index."""
        ...

    def list_results(self, actor: Actor, job_id: UUID) -> tuple[ResultFile, ...]: ...

    def cancel_job(self, actor: Actor, job_id: UUID) -> Job:
        """Move a job from any live state to CANCELLED, and its unfinished shards with it. Idempotent on a CANCELLED
        job. Raises Conflict in another final state."""
        ...

    def list_deliveries(self, actor: Actor, job_id: UUID) -> tuple[Delivery, ...]:
        """List the deliveries of the job's notices, oldest first."""
        ...

    def get_webhook_secret(self, actor: Actor, *, rotate: bool = False) -> str:
        """Return the secret that signs this tenant's webhooks; it is made at first use. `rotate` replaces it; for a
        day, the previous secret signs them too."""
        ...

    def list_names(self, actor: Actor, subjects: Collection[str]) -> Mapping[str, str]:
        """Return the display names of these subjects: a person's e-mail address, a key's name. Subjects of another
        tenant and people without a known address are left out."""
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
    """The numbers of things that one sweep repaired."""

    leases_expired: int = 0
    stitches_woken: int = 0
    messages_resent: int = 0
    uploads_abandoned: int = 0
    given_up: int = 0  #: jobs that FAILED, slides and packages that were REJECTED, since nothing moved them
    notices_woken: int = 0  #: jobs with a notice that is due
    budgets_told: int = 0  #: tenants whose admins are to hear of their budget
    dead_letters: int = 0  #: that were collected


class SystemLedger(
    SystemRegistrations, SystemSpending, SystemDeadLetters, SystemErasure, SystemAudit, SourceRecords, Protocol
):
    # --- slides
    def find_uninspected_slide(self, slide_id: UUID) -> Slide | None:
        """Return the slide while it is UPLOADED; None otherwise, as for a late duplicate message."""
        ...

    def list_file_names(self, slide_id: UUID) -> tuple[str, ...]:
        """List the names of the slide's files in their order. They can identify a patient."""
        ...

    def accept_slide(self, slide_id: UUID, inspection: Mapping[str, Any], thumbnail_key: str, *, version: int) -> bool:
        """Move a slide from UPLOADED to READY if it is still at the `version` that was inspected. Return False
        otherwise, and for a slide that still has to be de-identified."""
        ...

    def reject_slide(self, slide_id: UUID, reason: RejectReason, sentence: str, *, version: int | None = None) -> bool:
        """Move a slide from UPLOADED to REJECTED if it is still at the `version` that was inspected (None: at any). A
        slide that still has to be de-identified loses its names, and gets an outbox row to "inspect", so that its files
        are deleted too."""
        ...

    def find_identifiable_slide(self, slide_id: UUID) -> Slide | None:
        """Return the slide while it is REJECTED and its files still identify the patient; None otherwise."""
        ...

    def begin_deidentification(
        self, slide_id: UUID, name: str, copies: Mapping[int, tuple[str, CleanCopy]], removed: Removed
    ) -> Slide | None:
        """Record where each file's clean copy goes and its new name, by the file's place in `Slide.files`; the other
        files are left out. Only the first call counts; return the slide as it is then. Return None if the slide is no
        longer UPLOADED, or need not be de-identified."""
        ...

    def finish_deidentification(
        self, slide_id: UUID, *, digest: str, copies: Mapping[str, tuple[str, int]], choice: Choice | None
    ) -> bool:
        """Make the clean copies the slide's files and drop the others. `copies` are ETag and bytes by uri of the copy;
        `choice` is what is left to choose in them. The audit log names the uploader as the actor. Return False if
        another process was faster, or the slide is no longer UPLOADED."""
        ...

    def claim_restoring_slides(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        """Claim RESTORING slides that nobody has examined or moved for `seconds`, the longest first; each then counts
        as examined (SKIP LOCKED)."""
        ...

    def finish_restore(self, slide_id: UUID, *, until: datetime | None) -> bool:
        """Move a slide from RESTORING to READY; `until` becomes its `restored_until`."""
        ...

    def expire_restored(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        """Move READY slides to ARCHIVED if their copies are removed within `seconds` and no live job reads them; return
        them."""
        ...

    # --- jobs
    def begin_planning(self, job_id: UUID) -> PlanningBrief | None:
        """Move a job from QUEUED to PLANNING. A job that is PLANNING already is returned too (the last planner died);
        None in any other state."""
        ...

    def commit_plan(self, job_id: UUID, *, plan_key: str, plan_digest: str, shard_tiles: Sequence[int]) -> bool:
        """Move a job from PLANNING to RUNNING: insert its shards as QUEUED, in the tenant's line at the job's priority,
        where they wait until `admit_shards` admits them.

        If the job retries another whose plan digest and shard sizes are equal, the DONE shards of that job are taken
        over as DONE. If none is left to do, the job moves to STITCHING with an outbox row to "stitch" instead.
        """
        ...

    def finish_without_tissue(self, job_id: UUID, results: Sequence[ResultFile]) -> bool:
        """Move a job from PLANNING to NO_TISSUE and add its results."""
        ...

    def fail_job(self, job_id: UUID, reason: FailReason, sentence: str) -> bool:
        """Move a job from any live state to FAILED, and its unfinished shards to CANCELLED."""
        ...

    # --- shards
    def lease_shard(self, job_id: UUID, index: int, *, owner: str, seconds: float) -> Lease | LeaseRefusal:
        """Move a shard from QUEUED (or from RUNNING with an expired lease) to RUNNING with attempt + 1, if the job is
        RUNNING."""
        ...

    def extend_lease(self, lease: Lease, *, seconds: float) -> bool:
        """Extend the lease to `seconds` from now. Return False if the lease was lost or the job is no longer RUNNING;
        the caller must drop the work."""
        ...

    def record_checkpoint(
        self, lease: Lease, *, key: str, done: int, unreadable: int, tiles_per_second: float | None
    ) -> bool:
        """Record the checkpoint that the next attempt resumes from and report progress (at most one push a second and
        job). A checkpoint behind the recorded one is ignored. Return False if the lease was lost."""
        ...

    def commit_shard(self, lease: Lease, *, result_key: str, count: ShardCount, tiles_per_second: float | None) -> bool:
        """Move a shard from RUNNING to DONE with the attempt as fence. The last one moves the job to STITCHING, with an
        outbox row to "stitch", all in one transaction (F-26). Return False if the lease was lost."""
        ...

    def release_shard(self, lease: Lease, *, reason: str, failed: bool) -> bool:
        """Move a shard from RUNNING to QUEUED with an outbox row to its queue. `failed` counts an in-process failure;
        the third makes the shard FAILED and the job FAILED(poison_shard). Return False if the lease was lost."""
        ...

    # --- results
    def find_stitch_brief(self, job_id: UUID) -> StitchBrief | None:
        """Return the job and its shards; None unless the job is STITCHING."""
        ...

    def commit_results(self, job_id: UUID, results: Sequence[ResultFile]) -> bool:
        """Add the results and move a job from STITCHING to COMPLETED, or to COMPLETED_WITH_UNREADABLE_TILES when any
        tile of the job is unreadable."""
        ...

    # --- notices
    def admit_shards(self, *, in_flight: int) -> int:
        """Admit shards from the tenants' lines, each with an outbox row to its priority's queue; return their number.

        Of each priority, at most `in_flight` shards are admitted and not finished. The tenants that wait share them
        equally: whoever has the fewest goes first, of equal ones the tenant that was admitted longest ago. A tenant
        that has none is admitted at once, even if others have all. Within a tenant, the shard that has waited longest
        goes first.
        """
        ...

    def claim_outbox(self, *, limit: int, seconds: float) -> tuple[OutboxRow, ...]:
        """Claim unsent rows that no other relay holds for `seconds` (SKIP LOCKED): messages of queues before pushes,
        each oldest first."""
        ...

    def mark_sent(self, ids: Sequence[int]) -> None:
        """Record that these rows were sent. Idempotent."""
        ...

    def release_outbox(self, ids: Sequence[int]) -> None:
        """Free the caller's claimed rows that it did not try to send, so that the next relay claims them at once."""
        ...

    def claim_deliveries(self, job_id: UUID, *, seconds: float) -> NoticeBrief | None:
        """Claim the due notices of a job that ended, each with its attempt raised; nobody else gets them for `seconds`.
        Make the tenant's webhook secret if a webhook is due and there is none. Return None if there is no such job."""
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
        """Record the outcome of an attempt. If it was not delivered and `retry_seconds` is None, the notice is given
        up. An attempt that a later one has replaced records nothing."""
        ...

    # --- sweep
    def sweep(self, *, upload_days: float, stuck_seconds: float, give_up_seconds: float) -> Swept:
        """Repair what crashes and lost messages left behind:

        - Expired leases go back to QUEUED with an outbox row to their queue.
        - RUNNING jobs with nothing remaining move to STITCHING.
        - UPLOADED slides, CHECKING model packages, QUEUED, PLANNING and STITCHING jobs and QUEUED shards that have not
          moved for `stuck_seconds` get their outbox row again (at most once per `stuck_seconds`).
        - Slides, packages and jobs among these that have not moved for `give_up_seconds` become REJECTED or FAILED.
        - Uploads older than `upload_days` become DELETED; those of model packages become REJECTED.
        - Jobs with a due notice get an outbox row to "notify" again, and old outbox rows are deleted.

        A shard whose lease ran out for the sixth time in a row without a new checkpoint is FAILED and its job
        FAILED(poison_shard), here and in `lease_shard`.
        """
        ...

    def measure_vitals(self, *, seconds: float, stalled_seconds: float) -> Vitals:
        """Count all jobs by state, and what happened within the last `seconds`. A job is stalled if no move, lease or
        report has touched it for `stalled_seconds`; a job that waits for a worker while workers compute for others is
        not."""
        ...

    # --- models
    def register_model(self, model: ModelVersion) -> None:
        """Add a version to its owner's; the same digest again is no error, another digest under the same version raises
        Conflict."""
        ...
