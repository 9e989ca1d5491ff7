"""What lambdas behind queues, workers, relay and sweep may do, as role tessera_system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from adapters.postgres import (
    archiving,
    deidentifying,
    deliveries,
    jobs,
    models,
    moves,
    outbox,
    shards,
    slides,
    sweeping,
    vitals,
)
from adapters.postgres.connections import Connections
from wsi.errors import FailReason, NotFound, RejectReason
from wsi.ports.ledger import PlanningBrief, StitchBrief, Swept
from wsi.records.deliveries import Delivery, NoticeBrief
from wsi.records.models import ModelVersion
from wsi.records.notices import OutboxRow
from wsi.records.results import ResultFile
from wsi.records.shards import Lease, LeaseRefusal, ShardCount
from wsi.records.slides import Choice, CleanCopy, Removed, Slide
from wsi.records.vitals import Vitals
from wsi.states import JobState, SlideState


class PostgresSystemLedger:
    """`wsi.ports.ledger.SystemLedger` on Postgres."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    # --- slides

    def uninspected_slide(self, slide_id: UUID) -> Slide | None:
        with self._connections.transaction() as cursor:
            try:
                slide = slides.get(cursor, slide_id)
            except NotFound:
                return None
            return slide if slide.state is SlideState.UPLOADED else None

    def identified_slide(self, slide_id: UUID) -> Slide | None:
        with self._connections.transaction() as cursor:
            return deidentifying.identified(cursor, slide_id)

    def begin_deidentification(
        self, slide_id: UUID, name: str, copies: Mapping[int, tuple[str, CleanCopy]], removed: Removed
    ) -> Slide | None:
        with self._connections.transaction() as cursor:
            return deidentifying.begin(cursor, slide_id, name, copies, removed)

    def finish_deidentification(
        self, slide_id: UUID, *, digest: str, etags: Mapping[str, str], choice: Choice | None
    ) -> bool:
        with self._connections.transaction() as cursor:
            return deidentifying.finish(cursor, slide_id, digest=digest, etags=etags, choice=choice)

    def accept_slide(self, slide_id: UUID, inspection: Mapping[str, Any], thumbnail_key: str, *, version: int) -> bool:
        found = {"inspection": Jsonb(dict(inspection)), "thumbnail_key": thumbnail_key}
        with self._connections.transaction() as cursor:
            if deidentifying.to_be_done(cursor, slide_id) is not None:
                return False
            # RESTORING -> READY is not an inspection's move.
            source = SlideState.UPLOADED
            return slides.move(cursor, slide_id, SlideState.READY, source=source, at_version=version, **found)

    def reject_slide(self, slide_id: UUID, reason: RejectReason, sentence: str, *, version: int | None = None) -> bool:
        with self._connections.transaction() as cursor:
            return slides.reject(cursor, slide_id, reason, sentence, at_version=version)

    def restoring_slides(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        with self._connections.transaction() as cursor:
            return archiving.restoring(cursor, seconds=seconds, limit=limit)

    def finish_restore(self, slide_id: UUID, *, until: datetime | None) -> bool:
        with self._connections.transaction() as cursor:
            return archiving.finish(cursor, slide_id, until=until)

    def expire_restored(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        with self._connections.transaction() as cursor:
            return archiving.expire(cursor, seconds=seconds, limit=limit)

    # --- jobs

    def begin_planning(self, job_id: UUID) -> PlanningBrief | None:
        with self._connections.transaction() as cursor:
            job = jobs.begin_planning(cursor, job_id)
            if job is None:
                return None
            slide = slides.get(cursor, job.slide_id)
            return PlanningBrief(job=job, slide=slide, model=models.get(cursor, job.model, job.model_version))

    def commit_plan(self, job_id: UUID, *, plan_key: str, plan_digest: str, shard_tiles: Sequence[int]) -> bool:
        with self._connections.transaction() as cursor:
            return jobs.commit_plan(cursor, job_id, plan_key=plan_key, plan_digest=plan_digest, sizes=shard_tiles)

    def finish_without_tissue(self, job_id: UUID, results: Sequence[ResultFile]) -> bool:
        with self._connections.transaction() as cursor:
            return jobs.finish(cursor, job_id, JobState.NO_TISSUE, results)

    def fail_job(self, job_id: UUID, reason: FailReason, sentence: str) -> bool:
        with self._connections.transaction() as cursor:
            return shards.fail_job(cursor, job_id, reason, sentence)

    # --- shards

    def lease_shard(self, job_id: UUID, index: int, *, owner: str, seconds: float) -> Lease | LeaseRefusal:
        with self._connections.transaction() as cursor:
            return shards.lease(cursor, job_id, index, owner=owner, seconds=seconds)

    def extend_lease(self, lease: Lease, *, seconds: float) -> bool:
        with self._connections.transaction() as cursor:
            return shards.extend(cursor, lease, seconds)

    def record_checkpoint(
        self, lease: Lease, *, key: str, done: int, unreadable: int, tiles_per_second: float | None
    ) -> bool:
        with self._connections.transaction() as cursor:
            return shards.checkpoint(cursor, lease, key=key, done=done, unreadable=unreadable, rate=tiles_per_second)

    def commit_shard(self, lease: Lease, *, result_key: str, count: ShardCount, tiles_per_second: float | None) -> bool:
        with self._connections.transaction() as cursor:
            return shards.commit(cursor, lease, result_key=result_key, count=count, rate=tiles_per_second)

    def release_shard(self, lease: Lease, *, reason: str, failed: bool) -> bool:
        with self._connections.transaction() as cursor:
            return shards.release(cursor, lease, reason=reason, failed=failed)

    # --- results

    def stitch_brief(self, job_id: UUID) -> StitchBrief | None:
        with self._connections.transaction() as cursor:
            job = moves.locked_job(cursor, job_id)
            if job is None or job.state is not JobState.STITCHING:
                return None
            return StitchBrief(job=job, shards=shards.finished(cursor, job_id))

    def commit_results(self, job_id: UUID, results: Sequence[ResultFile]) -> bool:
        with self._connections.transaction() as cursor:
            job = moves.locked_job(cursor, job_id)
            if job is None:
                return False
            flawed = job.tiles_unreadable > 0
            to = JobState.COMPLETED_WITH_UNREADABLE_TILES if flawed else JobState.COMPLETED
            return jobs.finish(cursor, job_id, to, results)

    # --- notices

    def claim_outbox(self, *, limit: int, seconds: float) -> tuple[OutboxRow, ...]:
        with self._connections.transaction() as cursor:
            return outbox.claim(cursor, limit=limit, seconds=seconds)

    def mark_sent(self, ids: Sequence[int]) -> None:
        with self._connections.transaction() as cursor:
            outbox.mark_sent(cursor, ids)

    def claim_deliveries(self, job_id: UUID, *, seconds: float) -> NoticeBrief | None:
        with self._connections.transaction() as cursor:
            return deliveries.claim(cursor, job_id, seconds=seconds)

    def record_delivery(
        self,
        delivery: Delivery,
        *,
        delivered: bool,
        status: int | None,
        error: str | None,
        retry_seconds: float | None,
    ) -> None:
        with self._connections.transaction() as cursor:
            deliveries.record(
                cursor, delivery, delivered=delivered, status=status, error=error, retry_seconds=retry_seconds
            )

    # --- sweep

    def sweep(self, *, upload_days: float, stuck_seconds: float, give_up_seconds: float) -> Swept:
        """Each repair is a transaction of its own, so that none holds the locks of the others."""
        with self._connections.transaction() as cursor:
            leases_expired = sweeping.expire_leases(cursor)
        with self._connections.transaction() as cursor:
            stitches_woken = sweeping.wake_stitches(cursor)
        with self._connections.transaction() as cursor:
            given_up = sweeping.give_up(cursor, seconds=give_up_seconds)
        with self._connections.transaction() as cursor:
            messages_resent = sweeping.resend(cursor, stuck_seconds=stuck_seconds)
        with self._connections.transaction() as cursor:
            uploads_abandoned = sweeping.abandon_uploads(cursor, days=upload_days)
            outbox.forget(cursor)
        with self._connections.transaction() as cursor:
            notices_woken = deliveries.wake(cursor)
        return Swept(
            leases_expired=leases_expired,
            stitches_woken=stitches_woken,
            messages_resent=messages_resent,
            uploads_abandoned=uploads_abandoned,
            given_up=given_up,
            notices_woken=notices_woken,
        )

    def vitals(self, *, seconds: float, stalled_seconds: float) -> Vitals:
        with self._connections.transaction() as cursor:
            return vitals.read(cursor, seconds=seconds, stalled_seconds=stalled_seconds)

    # --- models

    def register_model(self, model: ModelVersion) -> None:
        with self._connections.transaction() as cursor:
            models.register(cursor, model)
