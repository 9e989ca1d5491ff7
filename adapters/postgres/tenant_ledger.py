"""What the API may do, as role tessera_api: each transaction enters its tenant first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from adapters.postgres import archiving, deliveries, jobs, models, shards, slides
from adapters.postgres.connections import Connections, Cursor
from wsi.records.deliveries import Delivery
from wsi.records.identity import Actor
from wsi.records.jobs import Idempotency, Job, JobEvent, JobFilter, NewJob, Submission
from wsi.records.models import ModelVersion
from wsi.records.pages import Page
from wsi.records.restatement import Restatement
from wsi.records.results import ResultFile
from wsi.records.shards import ShardOutput
from wsi.records.slides import Choice, RestoreTier, Slide, SlideFile
from wsi.states import SlideState


class PostgresTenantLedger:
    """`wsi.ports.ledger.TenantLedger` on Postgres."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

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
    ) -> Slide:
        state = SlideState.UPLOADING
        with self._connections.transaction(actor.tenant) as cursor:
            _audit(cursor, actor, "slide.create", slide_id)
            return slides.insert(
                cursor, actor, slide_id, name, files, state=state, mpp=mpp, choice=choice, deidentify=deidentify
            )

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
        with self._connections.transaction(actor.tenant) as cursor:
            _audit(cursor, actor, "slide.register", slide_id)
            state = SlideState.UPLOADED
            return slides.insert(
                cursor, actor, slide_id, name, files, state=state, mpp=mpp, choice=choice, digest=digest
            )

    def complete_upload(self, actor: Actor, slide_id: UUID, *, digest: str, etags: Mapping[str, str]) -> Slide:
        with self._connections.transaction(actor.tenant) as cursor:
            slide, completed = slides.complete_upload(cursor, slide_id, digest=digest, etags=etags)
            if completed:
                _audit(cursor, actor, "slide.complete", slide_id)
            return slide

    def slide(self, actor: Actor, slide_id: UUID) -> Slide:
        with self._connections.transaction(actor.tenant) as cursor:
            return slides.get(cursor, slide_id)

    def slides(
        self, actor: Actor, *, q: str | None, state: SlideState | None, cursor: str | None, limit: int
    ) -> Page[Slide]:
        with self._connections.transaction(actor.tenant) as transaction:
            return slides.page(transaction, q=q, state=state, after=cursor, limit=limit)

    def delete_slide(self, actor: Actor, slide_id: UUID) -> Slide:
        with self._connections.transaction(actor.tenant) as cursor:
            slide, deleted = slides.delete(cursor, slide_id)
            if deleted:
                _audit(cursor, actor, "slide.delete", slide_id)
            return slide

    def restate_slide(self, actor: Actor, slide_id: UUID, restatement: Restatement) -> Slide:
        with self._connections.transaction(actor.tenant) as cursor:
            slide, restated = slides.restate(cursor, slide_id, restatement)
            if restated:
                _audit(cursor, actor, "slide.restate", slide_id, restatement.audit_detail())
            return slide

    def archive_slide(self, actor: Actor, slide_id: UUID) -> Slide:
        with self._connections.transaction(actor.tenant) as cursor:
            slide, archived = archiving.archive(cursor, slide_id)
            if archived:
                _audit(cursor, actor, "slide.archive", slide_id)
            return slide

    def restore_slide(self, actor: Actor, slide_id: UUID, tier: RestoreTier) -> Slide:
        with self._connections.transaction(actor.tenant) as cursor:
            slide, asked = archiving.restore(cursor, slide_id, tier)
            if asked:
                _audit(cursor, actor, "slide.restore", slide_id, {"tier": tier.value})
            return slide

    # --- jobs

    def submit_job(
        self, actor: Actor, job: NewJob, *, idempotency: Idempotency | None, reuse_finished: bool
    ) -> Submission:
        with self._connections.transaction(actor.tenant) as cursor:
            submission = jobs.submit(cursor, actor, job, idempotency=idempotency, reuse_finished=reuse_finished)
            if not submission.replayed:
                _audit(cursor, actor, "job.submit", submission.job.id, {"reused": submission.reused})
            return submission

    def job(self, actor: Actor, job_id: UUID) -> Job:
        with self._connections.transaction(actor.tenant) as cursor:
            return jobs.get(cursor, job_id)

    def jobs(self, actor: Actor, wanted: JobFilter, *, cursor: str | None, limit: int) -> Page[Job]:
        with self._connections.transaction(actor.tenant) as transaction:
            return jobs.page(transaction, wanted, after=cursor, limit=limit)

    def job_events(self, actor: Actor, job_id: UUID, *, after: int, limit: int) -> tuple[JobEvent, ...]:
        with self._connections.transaction(actor.tenant) as cursor:
            return jobs.events(cursor, job_id, after=after, limit=limit)

    def finished_shards(self, actor: Actor, job_id: UUID) -> tuple[ShardOutput, ...]:
        with self._connections.transaction(actor.tenant) as cursor:
            jobs.get(cursor, job_id)
            return shards.finished(cursor, job_id)

    def results(self, actor: Actor, job_id: UUID) -> tuple[ResultFile, ...]:
        with self._connections.transaction(actor.tenant) as cursor:
            return jobs.results(cursor, job_id)

    def cancel_job(self, actor: Actor, job_id: UUID) -> Job:
        with self._connections.transaction(actor.tenant) as cursor:
            job, cancelled = jobs.cancel(cursor, job_id)
            if cancelled:
                _audit(cursor, actor, "job.cancel", job_id)
            return job

    # --- notices

    def deliveries(self, actor: Actor, job_id: UUID) -> tuple[Delivery, ...]:
        with self._connections.transaction(actor.tenant) as cursor:
            jobs.get(cursor, job_id)
            return deliveries.of_job(cursor, job_id)

    def webhook_secret(self, actor: Actor, *, rotate: bool = False) -> str:
        with self._connections.transaction(actor.tenant) as cursor:
            if rotate:
                _audit(cursor, actor, "webhook_secret.rotate", actor.tenant)
            return deliveries.secret(cursor, actor.tenant, rotate=rotate)

    # --- models

    def models(self) -> tuple[ModelVersion, ...]:
        with self._connections.transaction() as cursor:
            return models.every(cursor)

    def model(self, name: str, version: str | None = None) -> ModelVersion:
        with self._connections.transaction() as cursor:
            return models.get(cursor, name, version)

    # --- people, and the audit log

    def names(self, actor: Actor, subjects: Collection[str]) -> Mapping[str, str]:
        with self._connections.transaction(actor.tenant) as cursor:
            found = cursor.execute("SELECT * FROM tessera.names_of(%s)", (list(subjects),))
            return {row["subject"]: row["name"] for row in found}

    def audit(self, actor: Actor, action: str, subject: str, detail: Mapping[str, Any] | None = None) -> None:
        with self._connections.transaction(actor.tenant) as cursor:
            _audit(cursor, actor, action, subject, detail)


def _audit(
    cursor: Cursor, actor: Actor, action: str, subject: str | UUID, detail: Mapping[str, Any] | None = None
) -> None:
    cursor.execute(
        "INSERT INTO audit_log (tenant, actor, action, subject, detail) VALUES (%s, %s, %s, %s, %s)",
        (actor.tenant, actor.subject, action, str(subject), Jsonb(dict(detail or {}))),
    )
