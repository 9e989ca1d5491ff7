"""The ledger's operations that delete: parts of both ledgers (`wsi.ports.ledger`)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol
from uuid import UUID

from wsi.records.identity import Actor
from wsi.records.jobs import Job
from wsi.records.quotas import Expired
from wsi.records.slides import Slide


class TenantErasure(Protocol):
    def delete_slide(self, actor: Actor, slide_id: UUID) -> Slide:
        """Move a slide from any state to DELETED and delete its jobs, as `delete_job` does. In the same transaction it
        loses its names, its digest, what inspection found and what was stated; sizes and unfinished uploads stay.
        Idempotent. Raises Conflict while a live job reads the slide, and under a legal hold."""
        ...

    def list_deleted_jobs(self, actor: Actor, slide_id: UUID, *, limit: int) -> tuple[UUID, ...]:
        """List deleted jobs of the slide whose objects may still be there."""
        ...

    def delete_job(self, actor: Actor, job_id: UUID) -> None:
        """Delete a job that has ended: ids, counts and times stay, and nobody is shown it any more. Idempotent. Raises
        Conflict while it is live, while a live job retries it, and under a legal hold of its slide."""
        ...

    def set_legal_hold(self, actor: Actor, slide_id: UUID, *, held: bool) -> Slide:
        """Begin or end the legal hold of a slide. Idempotent. Raises Conflict as `wsi.ledger_rules.check_holdable`
        does."""
        ...


class SystemErasure(Protocol):
    def claim_deleted_slides(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        """Claim DELETED slides whose objects may still be there and that nobody has claimed for `seconds`, the longest
        first (SKIP LOCKED). Those that an earlier release deleted lose what `delete_slide` removes."""
        ...

    def claim_deleted_jobs(self, *, seconds: float, limit: int) -> tuple[Job, ...]:
        """Claim deleted jobs in the same way."""
        ...

    def record_slide_erasure(self, slide_id: UUID, *, late_seconds: float) -> bool:
        """Record that the slide's objects were just deleted. Return True if it was deleted `late_seconds` ago or more,
        so that nothing writes any more; otherwise it is claimed once more after that time."""
        ...

    def record_job_erasure(self, job_id: UUID, *, late_seconds: float) -> bool:
        """Record the same of a job."""
        ...

    def claim_expired_slides(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        """Claim slides that `delete_expired` would delete and that nobody has claimed for `seconds`, the longest first
        (SKIP LOCKED)."""
        ...

    def claim_expired_jobs(self, *, seconds: float, limit: int) -> tuple[Job, ...]:
        """Claim jobs in the same way."""
        ...

    def list_kept_jobs(self, slide_id: UUID) -> tuple[UUID, ...]:
        """List the jobs of the slide that are not deleted."""
        ...

    def delete_expired(self, *, limit: int, among: Collection[UUID] | None = None) -> Expired:
        """Delete for retention at most `limit` slides, `limit` jobs and 100 times as many keys; of slides and jobs,
        only those `among` these ids, if they are given. What a live job needs and what is under a legal hold stays. The
        audit log names the sweep as the actor."""
        ...
