"""The system's face of the memory ledger: planning, results, notices, sweep, models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from tests.fakes import vitals
from tests.fakes.dead_letters.settling import MemoryDeadLetters
from tests.fakes.erasure.ledger import forget_slide
from tests.fakes.ledger_archive import MemoryArchive
from tests.fakes.ledger_books import Report
from tests.fakes.ledger_deidentification import MemoryDeidentification
from tests.fakes.ledger_fairness import MemoryLines
from tests.fakes.ledger_notices import MemoryNotices
from tests.fakes.ledger_registrations import MemoryRegistrations
from tests.fakes.ledger_shards import MemoryShards
from tests.fakes.ledger_tenant import list_finished_shards
from tests.fakes.spending.budgets import MemoryBudgetNotices
from wsi.errors import FailReason, RejectReason
from wsi.ledger_rules import (
    GIVEN_UP,
    PUSH_DAYS,
    SENT_DAYS,
    STUCK_TOPIC,
    TAKE_OVER_DAYS,
    UNINSPECTED_SENTENCE,
    make_other_digest_error,
    needs_deidentification,
)
from wsi.ports.ledger import PlanningBrief, StitchBrief, Swept
from wsi.records.jobs import Job
from wsi.records.models import ModelVersion
from wsi.records.notices import PUSH, OutboxRow
from wsi.records.operations.vitals import Vitals
from wsi.records.results import ResultFile
from wsi.records.shards import Shard
from wsi.records.slides import Slide
from wsi.states import JobState, ShardState, SlideState


class MemorySystemLedger(
    MemoryShards,
    MemoryLines,
    MemoryNotices,
    MemoryBudgetNotices,
    MemoryDeadLetters,
    MemoryArchive,
    MemoryDeidentification,
    MemoryRegistrations,
):
    """`wsi.ports.ledger.SystemLedger` in this process's memory."""

    # --- slides

    def find_uninspected_slide(self, slide_id: UUID) -> Slide | None:
        with self.books.lock:
            slide = self.books.slides.get(slide_id)
            return slide if slide and slide.state is SlideState.UPLOADED else None

    def list_file_names(self, slide_id: UUID) -> tuple[str, ...]:
        with self.books.lock:
            return tuple(file.name for file in self.books.slides[slide_id].files)

    def accept_slide(self, slide_id: UUID, inspection: Mapping[str, Any], thumbnail_key: str, *, version: int) -> bool:
        with self.books.lock:
            slide = self.find_uninspected_slide(slide_id)
            if slide is None or needs_deidentification(slide):  # RESTORING -> READY is not an inspection's move
                return False
            found: dict[str, Any] = {"inspection": dict(inspection), "thumbnail_key": thumbnail_key}
            return self.books.move_slide(slide_id, SlideState.READY, at_version=version, **found) is not None

    def reject_slide(self, slide_id: UUID, reason: RejectReason, sentence: str, *, version: int | None = None) -> bool:
        with self.books.lock:
            why: dict[str, Any] = {"reason": reason.value, "sentence": sentence}
            moved = self.books.move_slide(slide_id, SlideState.REJECTED, at_version=version, **why)
            if moved is not None and needs_deidentification(moved):
                self.forget_names(moved)
                self.books.send_to_inspection(moved)
            return moved is not None

    # --- jobs

    def begin_planning(self, job_id: UUID) -> PlanningBrief | None:
        with self.books.lock:
            job = self.books.move_job(job_id, JobState.PLANNING) or self.books.jobs.get(job_id)
            if job is None or job.state is not JobState.PLANNING:
                return None
            model = self.books.job_models[job_id]
            return PlanningBrief(job=job, slide=self.books.slides[job.slide_id], model=model)

    def commit_plan(self, job_id: UUID, *, plan_key: str, plan_digest: str, shard_tiles: Sequence[int]) -> bool:
        with self.books.lock:
            job = self.books.jobs.get(job_id)
            if job is None or job.state is not JobState.PLANNING:
                return False
            shards = self._take_over(job, plan_digest, shard_tiles)
            self.books.shards[job_id] = shards
            done = [shard for shard in shards if shard.state is ShardState.DONE]
            remaining = len(shards) - len(done)
            moved = self.books.move_job(
                job_id,
                JobState.RUNNING if remaining else JobState.STITCHING,
                detail={"shards": len(shards), "taken_over": len(done)},
                plan_key=plan_key,
                plan_digest=plan_digest,
                shards_total=len(shards),
                shards_remaining=remaining,
                tiles_planned=sum(shard_tiles),
                tiles_inferred=sum(shard.tiles_done - shard.tiles_unreadable for shard in done),
                tiles_unreadable=sum(shard.tiles_unreadable for shard in done),
            )
            assert moved is not None, "the job was PLANNING"
            for shard in shards:
                if shard.state is ShardState.QUEUED:
                    self.books.line[job_id, shard.index] = next(self.books.line_numbers)
            return True

    def _take_over(self, job: Job, plan_digest: str, sizes: Sequence[int]) -> list[Shard]:
        fresh = [
            Shard(job_id=job.id, index=index, state=ShardState.QUEUED, tiles=tiles) for index, tiles in enumerate(sizes)
        ]
        retried = self.books.jobs.get(job.retry_of) if job.retry_of else None
        if retried is None or retried.tenant != job.tenant or retried.plan_digest != plan_digest:
            return fresh
        earlier = self.books.shards.get(retried.id, [])
        if [shard.tiles for shard in earlier] != list(sizes):
            return fresh
        return [self._taken_over(mine, theirs) for mine, theirs in zip(fresh, earlier, strict=True)]

    def _taken_over(self, mine: Shard, theirs: Shard) -> Shard:
        oldest = self.books.ago(TAKE_OVER_DAYS * 86_400)
        report = self.books.reports.get((theirs.job_id, theirs.index))
        if theirs.state is not ShardState.DONE or report is None or report.leased_at <= oldest:
            return mine
        self.books.reports[mine.job_id, mine.index] = Report(leased_at=report.leased_at)
        return replace(
            mine,
            state=ShardState.DONE,
            result_key=theirs.result_key,
            tiles_done=theirs.tiles_done,
            tiles_unreadable=theirs.tiles_unreadable,
        )

    def finish_without_tissue(self, job_id: UUID, results: Sequence[ResultFile]) -> bool:
        with self.books.lock:
            return self._finish(job_id, JobState.NO_TISSUE, results)

    def fail_job(self, job_id: UUID, reason: FailReason, sentence: str) -> bool:
        with self.books.lock:
            return self.books.fail_job(job_id, reason, sentence)

    # --- results

    def find_stitch_brief(self, job_id: UUID) -> StitchBrief | None:
        with self.books.lock:
            job = self.books.jobs.get(job_id)
            if job is None or job.state is not JobState.STITCHING:
                return None
            return StitchBrief(job=job, shards=list_finished_shards(self.books, job_id))

    def commit_results(self, job_id: UUID, results: Sequence[ResultFile]) -> bool:
        with self.books.lock:
            job = self.books.jobs.get(job_id)
            flawed = job is not None and job.tiles_unreadable > 0
            to = JobState.COMPLETED_WITH_UNREADABLE_TILES if flawed else JobState.COMPLETED
            return self._finish(job_id, to, results)

    def _finish(self, job_id: UUID, to: JobState, results: Sequence[ResultFile]) -> bool:
        if self.books.move_job(job_id, to) is None:
            return False
        self.books.results[job_id] = tuple(sorted(results, key=lambda file: file.name))
        return True

    # --- notices

    def claim_outbox(self, *, limit: int, seconds: float) -> tuple[OutboxRow, ...]:
        with self.books.lock:
            now = self.books.now()
            free = sorted(
                (
                    entry
                    for entry in self.books.outbox
                    if entry.sent_at is None and (entry.claimed_until is None or entry.claimed_until < now)
                ),
                key=lambda entry: entry.row.topic == PUSH,
            )[:limit]
            for entry in free:
                entry.claimed_until = self.books.hence(seconds)
            return tuple(entry.row for entry in free)

    def mark_sent(self, ids: Sequence[int]) -> None:
        with self.books.lock:
            for entry in self.books.outbox:
                if entry.row.id in ids and entry.sent_at is None:
                    entry.sent_at = self.books.now()

    def release_outbox(self, ids: Sequence[int]) -> None:
        with self.books.lock:
            for entry in self.books.outbox:
                if entry.row.id in ids:
                    entry.claimed_until = None

    # --- sweep

    def sweep(self, *, upload_days: float, stuck_seconds: float, give_up_seconds: float) -> Swept:
        with self.books.lock:
            self._forget()
            return Swept(
                leases_expired=sum(self._expire_leases(job) for job in list(self.books.jobs.values())),
                stitches_woken=sum(self._wake_stitch(job) for job in list(self.books.jobs.values())),
                given_up=self._give_up(give_up_seconds) + self.give_up_trials(give_up_seconds),
                messages_resent=self._resend(stuck_seconds) + self.resend_trials(stuck_seconds),
                uploads_abandoned=self._abandon_uploads(upload_days) + self.abandon_packages(upload_days),
                notices_woken=self.wake_notices(),
            )

    def measure_vitals(self, *, seconds: float, stalled_seconds: float) -> Vitals:
        with self.books.lock:
            return vitals.read(self.books, seconds=seconds, stalled_seconds=stalled_seconds)

    def _forget(self) -> None:
        sent, pushed = self.books.ago(SENT_DAYS * 86_400), self.books.ago(PUSH_DAYS * 86_400)
        self.books.outbox = [
            entry
            for entry in self.books.outbox
            if (entry.sent_at or sent) >= sent
            and not (entry.sent_at is None and entry.row.topic == PUSH and entry.created_at < pushed)
        ]

    def _expire_leases(self, job: Job) -> int:
        freed = self.expire(job)
        self.books.wake_shards(job, freed)
        return len(freed)

    def _wake_stitch(self, job: Job) -> bool:
        if any(shard.state is not ShardState.DONE for shard in self.books.shards.get(job.id, ())):
            return False
        complete = job.state is JobState.RUNNING
        return complete and self.books.move_job(job.id, JobState.STITCHING, shards_remaining=0) is not None

    def _resend(self, stuck_seconds: float) -> int:
        before = self.books.ago(stuck_seconds)
        stuck = [key for key, at in self.books.woken_at.items() if at < before]
        return sum(self._resend_one(owner, shard) for owner, shard in stuck)

    def _resend_one(self, owner: UUID, index: int | None) -> bool:
        job, slide = self.books.jobs.get(owner), self.books.slides.get(owner)
        if job and index is not None and self.books.shards[owner][index].state is ShardState.QUEUED:
            self.books.wake_shards(job, [index])
        elif job and index is None and job.state in STUCK_TOPIC:
            self.books.wake_stage(job, STUCK_TOPIC[job.state])
        elif slide and slide.state is SlideState.UPLOADED:
            self.books.send_to_inspection(slide)
        else:
            return False
        self.books.woken_at[owner, index] = self.books.now()
        return True

    def _give_up(self, seconds: float) -> int:
        before = self.books.ago(seconds)
        jobs = [job for job in self.books.jobs.values() if job.state in GIVEN_UP and job.updated_at < before]
        for job in jobs:
            self.books.fail_job(job.id, *GIVEN_UP[job.state])
        slides = [
            slide.id
            for slide in self.books.slides.values()
            if slide.state is SlideState.UPLOADED and self.books.slides_moved_at[slide.id] < before
        ]
        for slide_id in slides:
            self.reject_slide(slide_id, RejectReason.DAMAGED, UNINSPECTED_SENTENCE)
        return len(jobs) + len(slides)

    def _abandon_uploads(self, days: float) -> int:
        before = self.books.ago(days * 86_400)
        old = [
            slide.id
            for slide in self.books.slides.values()
            if slide.state is SlideState.UPLOADING and slide.created_at < before
        ]
        return sum(forget_slide(self.books, slide_id) is not None for slide_id in old)

    # --- models

    def register_model(self, model: ModelVersion) -> None:
        with self.books.lock:
            place = (model.owner, model.name, model.version)
            for known in self.books.models:
                if (known.owner, known.name, known.version) == place:
                    if known.digest != model.digest:
                        raise make_other_digest_error()
                    return
            self.add_model(model, asked=model.is_default)
