"""Deletion in the memory ledger: the tenant's side and the sweep's."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from tests.fakes.ledger_books import Books
from wsi.ledger_rules import (
    ERASED_SENTENCE,
    check_ended,
    check_holdable,
    check_unheld,
    make_anonymous_name,
    make_continued_job_error,
    make_slide_in_use_error,
    make_unknown_job_error,
)
from wsi.records.identity import Actor, Role
from wsi.records.jobs import Job, JobOptions
from wsi.records.quotas import Expired
from wsi.records.slides import Slide
from wsi.states import SlideState

SWEEP = "system:retention"


class MemoryErasure:
    books: Books

    # --- the tenant's

    def delete_slide(self, actor: Actor, slide_id: UUID) -> Slide:
        with self.books.lock:
            slide = self.books.slide_of(actor, slide_id)
            if slide.state is SlideState.DELETED:
                return slide
            check_unheld(slide)
            if self.books.is_read(slide_id):
                raise make_slide_in_use_error()
            return self._delete_slide(actor, slide)

    def list_deleted_jobs(self, actor: Actor, slide_id: UUID, *, limit: int) -> tuple[UUID, ...]:
        with self.books.lock:
            jobs = [job for job in self.books.jobs.values() if job.slide_id == slide_id and job.tenant == actor.tenant]
            return tuple(sorted(job.id for job in jobs if self._is_left(job)))[:limit]

    def delete_job(self, actor: Actor, job_id: UUID) -> None:
        with self.books.lock:
            job = self.books.jobs.get(job_id)
            if job is None or job.tenant != actor.tenant:
                raise make_unknown_job_error()
            if job.deleted_at is not None:
                return
            check_unheld(self.books.slides[job.slide_id])
            check_ended(job)
            if self._is_continued(job_id):
                raise make_continued_job_error()
            self._delete_job(job)
            self.books.note(actor, "job.delete", job_id)

    def set_legal_hold(self, actor: Actor, slide_id: UUID, *, held: bool) -> Slide:
        with self.books.lock:
            slide = self.books.slide_of(actor, slide_id)
            if held:
                check_holdable(slide)
            if slide.legal_hold is held:
                return slide
            self.books.slides[slide_id] = replace(slide, legal_hold=held)
            self.books.note(actor, "slide.hold" if held else "slide.end_hold", slide_id)
            return self.books.slides[slide_id]

    # --- the sweep's

    def claim_deleted_slides(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        with self.books.lock:
            deleted = [slide for slide in self.books.slides.values() if slide.state is SlideState.DELETED]
            return tuple(self.books.slides[key] for key in self._claim([slide.id for slide in deleted], seconds, limit))

    def claim_deleted_jobs(self, *, seconds: float, limit: int) -> tuple[Job, ...]:
        with self.books.lock:
            deleted = [job.id for job in self.books.jobs.values() if self._is_left(job)]
            return tuple(self.books.jobs[key] for key in self._claim(deleted, seconds, limit))

    def record_slide_erasure(self, slide_id: UUID, *, late_seconds: float) -> bool:
        with self.books.lock:
            return self._record(slide_id, self.books.slides_moved_at[slide_id] + timedelta(seconds=late_seconds))

    def record_job_erasure(self, job_id: UUID, *, late_seconds: float) -> bool:
        with self.books.lock:
            deleted_at = self.books.jobs[job_id].deleted_at
            return deleted_at is not None and self._record(job_id, deleted_at + timedelta(seconds=late_seconds))

    def claim_expired_slides(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        with self.books.lock:
            expired = [slide.id for slide in self.books.slides.values() if self._is_expired_slide(slide)]
            return tuple(self.books.slides[key] for key in self._claim(expired, seconds, limit))

    def claim_expired_jobs(self, *, seconds: float, limit: int) -> tuple[Job, ...]:
        with self.books.lock:
            expired = [job.id for job in self.books.jobs.values() if self._is_expired_job(job)]
            return tuple(self.books.jobs[key] for key in self._claim(expired, seconds, limit))

    def list_kept_jobs(self, slide_id: UUID) -> tuple[UUID, ...]:
        with self.books.lock:
            jobs = [job for job in self.books.jobs.values() if job.slide_id == slide_id]
            return tuple(job.id for job in jobs if job.deleted_at is None)

    def delete_expired(self, *, limit: int, among: Collection[UUID] | None = None) -> Expired:
        with self.books.lock:
            slides = [slide for slide in self.books.slides.values() if self._is_expired_slide(slide)]
            slides = [slide for slide in slides if among is None or slide.id in among][:limit]
            for slide in slides:
                self._delete_slide(Actor(tenant=slide.tenant, subject=SWEEP, role=Role.ADMIN), slide)
            jobs = [job for job in self.books.jobs.values() if self._is_expired_job(job)]
            jobs = [job for job in jobs if among is None or job.id in among][:limit]
            for job in jobs:
                self._delete_job(job)
                self.books.note(Actor(tenant=job.tenant, subject=SWEEP, role=Role.ADMIN), "job.delete", job.id)
            # When keys came is not in the books: they are as old as the jobs that they were first given with.
            keys = [
                key for key, (_, given) in self.books.idempotency.items() if self._is_expired_key(key[0], given.job.id)
            ]
            for key in keys:
                del self.books.idempotency[key]
            return Expired(slides_expired=len(slides), jobs_expired=len(jobs), keys_expired=len(keys))

    # --- parts

    def _delete_slide(self, actor: Actor, slide: Slide) -> Slide:
        moved = forget_slide(self.books, slide.id)
        assert moved is not None, "every state but DELETED leads to it"
        for job in [job for job in self.books.jobs.values() if job.slide_id == slide.id and job.deleted_at is None]:
            self._delete_job(job)
        self.books.note(actor, "slide.delete", slide.id)
        return moved

    def _delete_job(self, job: Job) -> None:
        now = self.books.now()
        self.books.jobs[job.id] = replace(
            job,
            deleted_at=now,
            version=job.version + 1,
            label=None,
            notify_email=None,
            notify_webhook=None,
            options=JobOptions(),
            identity="",
            plan_key=None,
            plan_digest=None,
            sentence=job.sentence and ERASED_SENTENCE,
        )
        self.books.woken_at[job.id, None] = now
        self.books.results.pop(job.id, None)
        self.books.deliveries = {k: v for k, v in self.books.deliveries.items() if v.delivery.job_id != job.id}
        self.books.idempotency = {k: v for k, v in self.books.idempotency.items() if v[1].job.id != job.id}
        self.books.followers.pop(job.id, None)
        for shard in list(self.books.shards.get(job.id, ())):
            self.books.put_shard(replace(shard, reason=None))

    def _is_left(self, job: Job) -> bool:
        return job.deleted_at is not None and job.id not in self.books.erased

    def _is_continued(self, job_id: UUID) -> bool:
        retries = [job for job in self.books.jobs.values() if job.retry_of == job_id]
        return any(not job.state.is_final or self._is_continued(job.id) for job in retries)

    def _claim(self, keys: list[UUID], seconds: float, limit: int) -> list[UUID]:
        woken = self.books.woken_at
        due = [key for key in keys if key not in self.books.erased and woken[key, None] < self.books.ago(seconds)]
        claimed = sorted(due, key=lambda key: woken[key, None])[:limit]
        for key in claimed:
            woken[key, None] = self.books.now()
        return claimed

    def _record(self, key: UUID, late: datetime) -> bool:
        now = self.books.now()
        if late <= now:
            self.books.erased.add(key)
            return True
        self.books.woken_at[key, None] = late
        return False

    def _is_expired_slide(self, slide: Slide) -> bool:
        days = self.books.retention[slide.tenant].slide_days if slide.tenant in self.books.retention else None
        return (
            days is not None
            and slide.created_at < self.books.ago(days * 86_400)
            and slide.state not in (SlideState.UPLOADING, SlideState.DELETED)
            and not slide.legal_hold
            and not self.books.is_read(slide.id)
        )

    def _is_expired_job(self, job: Job) -> bool:
        days = self.books.retention[job.tenant].result_days if job.tenant in self.books.retention else None
        return (
            days is not None
            and job.finished_at is not None
            and job.finished_at < self.books.ago(days * 86_400)
            and job.deleted_at is None
            and not self.books.slides[job.slide_id].legal_hold
            and not self._is_continued(job.id)
        )

    def _is_expired_key(self, tenant: UUID, job_id: UUID) -> bool:
        days = self.books.retention[tenant].key_days if tenant in self.books.retention else None
        return days is not None and self.books.jobs[job_id].created_at < self.books.ago(days * 86_400)


def forget_slide(books: Books, slide_id: UUID) -> Slide | None:
    """Move a slide to DELETED, without what people or files said of it."""
    files = tuple(
        replace(file, name=f"{place:05d}", etag=None, uri=file.uri if file.upload_id else "")
        for place, file in enumerate(books.slides[slide_id].files)
    )
    return books.move_slide(
        slide_id,
        SlideState.DELETED,
        name=make_anonymous_name(slide_id),
        files=files,
        digest=None,
        mpp=None,
        choice=None,
        reason=None,
        sentence=None,
        inspection=None,
        thumbnail_key=None,
        restore_tier=None,
        restored_until=None,
    )
