"""The tenant's face of the memory ledger."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Protocol, TypeVar
from uuid import UUID

from tests.fakes.erasure.ledger import MemoryErasure
from tests.fakes.ledger_books import Books
from tests.fakes.ledger_restatement import MemoryRestatement
from tests.fakes.spending.usage import MemoryTenantSpending
from tests.fakes.vitals import measure_queue
from wsi.errors import NotFound
from wsi.ledger_rules import (
    REUSABLE,
    check_readable,
    make_deleted_slide_error,
    make_final_job_error,
    make_reused_key_error,
    make_slide_changed_error,
    make_unknown_model_error,
    needs_higher_priority,
    select_followers,
)
from wsi.models.owners import select_usable
from wsi.records.expectations import QueueState
from wsi.records.identity import Actor
from wsi.records.jobs import Idempotency, Job, JobEvent, JobFilter, NewJob, Submission
from wsi.records.models import ModelVersion
from wsi.records.pages import Page, make_cursor, read_cursor
from wsi.records.results import ResultFile
from wsi.records.shards import ShardOutput
from wsi.records.slides import Choice, Slide, SlideFile
from wsi.sources.source import find_source
from wsi.states import JobState, ShardState, SlideState


class _Dated(Protocol):
    @property
    def id(self) -> UUID: ...
    @property
    def created_at(self) -> datetime: ...


_REQUEST_ONLY = ("slide_version", "tiles_expected")  #: fields of a request that its job does not have
_Item = TypeVar("_Item", bound=_Dated)


class MemoryTenantLedger(MemoryRestatement, MemoryTenantSpending, MemoryErasure):
    """`wsi.ports.ledger.TenantLedger` in this process's memory."""

    books: Books

    # --- slides

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
        state = SlideState.UPLOADING
        with self.books.lock:
            self.check_new_upload(actor, files)
            self.books.note(actor, "slide.create", slide_id)
            stated: dict[str, Any] = {"mpp": mpp, "choice": choice, "deidentify": deidentify}
            return self._add_slide(actor, slide_id, name, files, state=state, traceparent=traceparent, **stated)

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
        with self.books.lock:
            stated: dict[str, Any] = {"mpp": mpp, "choice": choice, "digest": digest}
            added = self._add_slide(
                actor, slide_id, name, files, state=SlideState.UPLOADED, traceparent=traceparent, **stated
            )
            self.books.note(actor, "slide.register", slide_id)
            return self._send_to_inspection(added)

    def complete_upload(self, actor: Actor, slide_id: UUID, *, digest: str, etags: Mapping[str, str]) -> Slide:
        with self.books.lock:
            slide = self.books.slide_of(actor, slide_id)
            if slide.state is SlideState.DELETED:
                raise make_deleted_slide_error()
            files = tuple(
                replace(file, etag=etags[file.uri], upload_id=None) if file.uri in etags else file
                for file in slide.files
            )
            moved = self.books.move_slide(
                slide_id, SlideState.UPLOADED, source=SlideState.UPLOADING, digest=digest, files=files
            )
            if moved is None:
                return slide
            self.books.note(actor, "slide.complete", slide_id)
            return self._send_to_inspection(moved)

    def get_slide(self, actor: Actor, slide_id: UUID) -> Slide:
        with self.books.lock:
            return self.books.slide_of(actor, slide_id)

    def list_slides(
        self, actor: Actor, *, q: str | None, state: SlideState | None, cursor: str | None, limit: int
    ) -> Page[Slide]:
        def wanted(slide: Slide) -> bool:
            return (
                slide.tenant == actor.tenant
                and (q is None or _folded(q) in _folded(slide.name))
                and (slide.state is state if state else slide.state is not SlideState.DELETED)
            )

        with self.books.lock:
            return _page(self.books.slides, wanted, cursor, limit)

    # --- jobs

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
        with self.books.lock:
            if idempotency and (first := self.books.idempotency.get((actor.tenant, idempotency.key))):
                return self._replay(idempotency, *first)
            slide = self.books.slide_of(actor, job.slide_id)
            check_readable(slide)
            if slide.version != job.slide_version:
                raise make_slide_changed_error()
            equal = self._find_equal(actor, job.identity, finished=reuse_finished, live=share_live)
            if equal is None:
                submission = Submission(job=self._add_job(actor, job, dollars_per_gpu_hour))
            elif equal.state.is_final:
                submission = Submission(job=equal, reused=True)
            else:
                submission = Submission(job=self._share(actor, equal, job), shared=True)
            if idempotency:
                self.books.idempotency[actor.tenant, idempotency.key] = (idempotency, submission)
            self.books.note(actor, "job.submit", submission.job.id, {"reused": submission.reused})
            return submission

    def get_job(self, actor: Actor, job_id: UUID) -> Job:
        with self.books.lock:
            return self.books.job_of(actor, job_id)

    def measure_queue(self, job_id: UUID) -> QueueState:
        with self.books.lock:
            return measure_queue(self.books, job_id)

    def list_jobs(self, actor: Actor, wanted: JobFilter, *, cursor: str | None, limit: int) -> Page[Job]:
        def meets(job: Job) -> bool:
            names = (_folded(job.label or ""), _folded(self.books.slides[job.slide_id].name))
            return (
                job.tenant == actor.tenant
                and job.deleted_at is None
                and (wanted.q is None or any(_folded(wanted.q) in name for name in names))
                and all(getattr(job, name) == value for name, value in wanted.get_required_values().items())
            )

        with self.books.lock:
            return _page(self.books.jobs, meets, cursor, limit)

    def list_job_events(self, actor: Actor, job_id: UUID, *, after: int, limit: int) -> tuple[JobEvent, ...]:
        with self.books.lock:
            self.books.job_of(actor, job_id)
            return tuple(event for event in self.books.events if event.job_id == job_id and event.seq > after)[:limit]

    def list_finished_shards(self, actor: Actor, job_id: UUID) -> tuple[ShardOutput, ...]:
        with self.books.lock:
            self.books.job_of(actor, job_id)
            return list_finished_shards(self.books, job_id)

    def list_results(self, actor: Actor, job_id: UUID) -> tuple[ResultFile, ...]:
        with self.books.lock:
            self.books.job_of(actor, job_id)
            return self.books.results.get(job_id, ())

    def cancel_job(self, actor: Actor, job_id: UUID) -> Job:
        with self.books.lock:
            job = self.books.job_of(actor, job_id)
            moved = self.books.move_job(job_id, JobState.CANCELLED)
            if moved is None:
                if job.state is JobState.CANCELLED:
                    return job
                raise make_final_job_error(job)
            self.books.cancel_shards(job_id)
            self.books.note(actor, "job.cancel", job_id)
            return moved

    # --- models and names

    def list_models(self, actor: Actor) -> tuple[ModelVersion, ...]:
        with self.books.lock:
            return select_usable(self.books.list_visible_models(actor))

    def get_model(
        self, actor: Actor, name: str, version: str | None = None, *, digest: str | None = None
    ) -> ModelVersion:
        with self.books.lock:
            for model in sorted(self.books.list_visible_models(actor), key=lambda model: model.owner is None):
                is_meant = model.is_default if version is None else model.version == version
                if model.name == name and is_meant and digest in (None, model.digest):
                    return model
            raise make_unknown_model_error()

    def find_inputs(
        self, actor: Actor, slide_id: UUID, model: str, version: str | None
    ) -> tuple[Slide, ModelVersion | None]:
        slide = self.get_slide(actor, slide_id)
        try:
            return slide, self.get_model(actor, model, version)
        except NotFound:
            return slide, None

    def list_names(self, actor: Actor, subjects: Collection[str]) -> Mapping[str, str]:
        with self.books.lock:
            known = {one: self.books.names[one] for one in subjects if one in self.books.names}
            return {one: name for one, (tenant, name) in known.items() if tenant == actor.tenant}

    # --- parts

    def _add_slide(
        self,
        actor: Actor,
        slide_id: UUID,
        name: str,
        files: Sequence[SlideFile],
        *,
        state: SlideState,
        mpp: float | None,
        choice: Choice | None,
        digest: str | None = None,
        deidentify: bool = False,
        traceparent: str | None = None,
    ) -> Slide:
        for file in files:
            if f"/{slide_id}/" not in file.uri:
                find_source(self.books.sources.get(actor.tenant, ()), file.uri)
        slide = Slide(
            id=slide_id,
            tenant=actor.tenant,
            name=name,
            state=state,
            files=tuple(files),
            digest=digest,
            mpp=mpp,
            choice=choice,
            deidentify=deidentify,
            created_by=actor.subject,
            created_at=self.books.now(),
            traceparent=traceparent,
        )
        self.books.slides[slide_id] = slide
        self.books.woken_at[slide_id, None] = self.books.slides_moved_at[slide_id] = slide.created_at
        return slide

    def _send_to_inspection(self, slide: Slide) -> Slide:
        self.books.send_to_inspection(slide)
        return slide

    def _replay(self, idempotency: Idempotency, first: Idempotency, answer: Submission) -> Submission:
        if first.body_digest != idempotency.body_digest:
            raise make_reused_key_error()
        return replace(answer, job=self.books.jobs[answer.job.id], replayed=True)

    def _find_equal(self, actor: Actor, identity: str, *, finished: bool, live: bool) -> Job | None:
        equal = [job for job in self.books.jobs.values() if (job.tenant, job.identity) == (actor.tenant, identity)]
        done = [job for job in equal if finished and job.state in REUSABLE]
        if done:
            return max(done, key=lambda job: job.finished_at or job.updated_at)
        under_way = [job for job in equal if live and not job.state.is_final]
        return min(under_way, key=lambda job: job.created_at, default=None)

    def _share(self, actor: Actor, job: Job, asked: NewJob) -> Job:
        if needs_higher_priority(job, asked):
            self.check_priority_allowed(actor, asked.priority)
            job = self.books.jobs[job.id] = replace(job, priority=asked.priority)
        followers = self.books.followers.setdefault(job.id, [])
        followers += [one for one in select_followers(job, asked) if one not in followers]
        return job

    def _add_job(self, actor: Actor, new: NewJob, dollars_per_gpu_hour: float | None) -> Job:
        model = self.get_model(actor, new.model, new.model_version, digest=new.model_digest)
        retried = self.books.job_of(actor, new.retry_of) if new.retry_of else None
        self.check_new_job(actor, new, dollars_per_gpu_hour)
        self.books.tiles_expected[new.id] = new.tiles_expected
        now = self.books.now()
        asked = {field.name: getattr(new, field.name) for field in fields(NewJob) if field.name not in _REQUEST_ONLY}
        job = Job(
            **asked,
            tenant=actor.tenant,
            state=JobState.QUEUED,
            created_by=actor.subject,
            created_at=now,
            updated_at=now,
        )
        self.books.jobs[job.id] = job
        self.books.job_models[job.id] = model
        self.books.announce(job)
        if retried:
            self.books.append_event(retried, "retried", {"by": str(job.id)})
        return job


def list_finished_shards(books: Books, job_id: UUID) -> tuple[ShardOutput, ...]:
    return tuple(
        ShardOutput(index=shard.index, result_key=shard.result_key, tiles=shard.tiles)
        for shard in books.shards.get(job_id, ())
        if shard.state is ShardState.DONE and shard.result_key is not None
    )


def _page(items: Mapping[UUID, _Item], wanted: Callable[[_Item], bool], cursor: str | None, limit: int) -> Page[_Item]:
    last = read_cursor(cursor) if cursor else None
    newest_first = sorted(items.values(), key=lambda item: (item.created_at, item.id), reverse=True)
    found = [item for item in newest_first if wanted(item) and (last is None or (item.created_at, item.id) < last)]
    page = tuple(found[:limit])
    return Page(page, make_cursor(page[-1].created_at, page[-1].id) if len(found) > limit else None)


def _folded(text: str) -> str:
    """Return the text as searches compare it: macOS names files with decomposed letters, and keyboards compose them."""
    return unicodedata.normalize("NFC", text.lower())
