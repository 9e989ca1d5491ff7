"""Jobs: asked for, estimated, cancelled, tried again.

A job pins at its creation all that decides its numbers: the model's digest, the options, the microns a pixel that
the user stated. Equal pins over equal slide bytes give equal results, so a finished equal job is the answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from wsi.access import require
from wsi.errors import Conflict
from wsi.estimate import Estimate, check_plannable, estimate
from wsi.model_card import ModelCard
from wsi.notices import wake
from wsi.numerics import NUMERICS_VERSION, PRECISION, TISSUE_VERSION
from wsi.ports.ledger import TenantLedger
from wsi.ports.objects import Objects
from wsi.ports.queues import Queues
from wsi.records.identity import Actor, Role
from wsi.records.jobs import Idempotency, Job, JobOptions, NewJob, Priority, Submission
from wsi.records.slides import Inspection, Slide
from wsi.states import JobState
from wsi.stored_mask import stored_mask
from wsi.webhooks import check_url

CAPACITY_SECONDS = 60.0  #: RUNNING for so long without a lease means that no worker is there


@dataclass(frozen=True, kw_only=True, slots=True)
class JobRequest:
    slide_id: UUID
    model: str
    model_version: str | None = None  #: None: the default version, pinned when the job is made
    priority: Priority = Priority.NORMAL
    options: JobOptions = field(default_factory=JobOptions)
    label: str | None = None
    force: bool = False  #: compute again although an equal job has finished
    notify_email: str | None = None
    notify_webhook: str | None = None
    warnings: tuple[str, ...] = ()  #: what of the drawn region was left out or changed; for the answer alone

    def digest(self) -> str:
        """What the same Idempotency-Key must come with again."""
        return _digest(
            {
                "slide_id": str(self.slide_id),
                "model": self.model,
                "model_version": self.model_version,
                "priority": self.priority.value,
                "options": self.options.as_json(),
                "label": self.label,
                "force": self.force,
                # Left out where nobody asks, as before there were notices: a key of that time still fits.
                **{name: value for name, value in self._notices.items() if value is not None},
            }
        )

    @property
    def _notices(self) -> Mapping[str, str | None]:
        return {"notify_email": self.notify_email, "notify_webhook": self.notify_webhook}


def submit_job(
    actor: Actor,
    request: JobRequest,
    *,
    idempotency_key: str | None,
    traceparent: str,
    ledger: TenantLedger,
    queues: Queues,
) -> Submission:
    """A QUEUED job, or the one that answers the same question. Raises Forbidden, NotFound, Conflict; Invalid and
    SlideRejected for what planning would refuse as far as inspection knows, so that nobody waits for that answer."""
    require(actor, Role.ANALYST)
    if request.notify_webhook is not None:
        check_url(request.notify_webhook)
    slide = ledger.slide(actor, request.slide_id)
    model = ledger.model(request.model, request.model_version)
    options = pinned_options(slide, request.options)
    if slide.inspection is not None:
        check_plannable(Inspection.from_json(slide.inspection), ModelCard.from_json(model.card), options)
    job = NewJob(
        id=uuid4(),
        slide_id=slide.id,
        slide_version=slide.version,
        model=model.name,
        model_version=model.version,
        model_digest=model.digest,
        priority=request.priority,
        options=options,
        label=request.label,
        identity=identity(slide, ModelCard.from_json(model.card), options),
        traceparent=traceparent,
        notify_email=request.notify_email,
        notify_webhook=request.notify_webhook,
    )
    return _submit(actor, job, idempotency_key, request.digest(), ledger, queues, reuse_finished=not request.force)


def estimate_job(
    actor: Actor, request: JobRequest, *, ledger: TenantLedger, objects: Objects, dollars_per_gpu_hour: float
) -> Estimate:
    """The dry run: for every role, since it writes nothing. Raises NotFound, Conflict, Invalid, SlideRejected."""
    slide = ledger.slide(actor, request.slide_id)
    model = ledger.model(request.model, request.model_version)
    if slide.inspection is None:
        raise Conflict(f"The slide is {slide.state.value}; an estimate needs a slide that is READY.")
    options = pinned_options(slide, request.options)
    return estimate(
        Inspection.from_json(slide.inspection),
        ModelCard.from_json(model.card),
        options,
        dollars_per_gpu_hour,
        stored=stored_mask(objects, slide) if options.outline is None else None,
    )


def cancel_job(actor: Actor, job_id: UUID, *, ledger: TenantLedger, queues: Queues) -> Job:
    """Idempotent. Raises Forbidden, NotFound, Conflict for a job that has ended otherwise."""
    require(actor, Role.ANALYST)
    job = ledger.cancel_job(actor, job_id)
    wake(queues, traceparent=job.traceparent)
    return job


def retry_job(
    actor: Actor,
    job_id: UUID,
    *,
    idempotency_key: str | None,
    traceparent: str,
    ledger: TenantLedger,
    queues: Queues,
) -> Submission:
    """A new job with the pins of a FAILED or CANCELLED one, whose finished shards it takes over when it is planned."""
    require(actor, Role.ANALYST)
    old = ledger.job(actor, job_id)
    if old.state not in (JobState.FAILED, JobState.CANCELLED):
        raise Conflict(f"The job is {old.state.value}; only a FAILED or CANCELLED job can be tried again.")
    slide = ledger.slide(actor, old.slide_id)
    if pinned_options(slide, old.options) != old.options:
        raise Conflict("Another scale or image was stated for the slide since this job was made: start a new job.")
    model = ledger.model(old.model, old.model_version)
    job = NewJob(
        id=uuid4(),
        slide_id=old.slide_id,
        slide_version=slide.version,
        model=old.model,
        model_version=old.model_version,
        model_digest=old.model_digest,
        priority=old.priority,
        options=old.options,
        label=old.label,
        identity=identity(slide, ModelCard.from_json(model.card), old.options),
        traceparent=traceparent,
        retry_of=old.id,
        notify_email=old.notify_email,
        notify_webhook=old.notify_webhook,
    )
    return _submit(
        actor, job, idempotency_key, _digest({"retry_of": str(job_id)}), ledger, queues, reuse_finished=False
    )


def waits_for_capacity(job: Job, now: datetime) -> bool:
    """RUNNING, no shard leased yet, 60 s passed: derived, not a state."""
    waited = now - job.updated_at
    return job.state is JobState.RUNNING and job.first_lease_at is None and waited > timedelta(seconds=CAPACITY_SECONDS)


def pinned_options(slide: Slide, options: JobOptions) -> JobOptions:
    """The options with what the user stated with the slide: the choice of a picture, and the microns a pixel unless the
    job states its own."""
    return replace(options, mpp=options.mpp if options.mpp is not None else slide.mpp, choice=slide.choice)


def identity(slide: Slide, card: ModelCard, options: JobOptions) -> str:
    """Of a job over `slide`. Raises Conflict for a slide whose bytes are not complete."""
    if slide.digest is None:
        raise Conflict(f"The slide is {slide.state.value}; a job needs a slide that is READY.")
    return result_identity(slide.digest, card, options)


def result_identity(slide_digest: str, card: ModelCard, options: JobOptions) -> str:
    """Hex sha256 of all that decides a result: equal identity, equal result."""
    return _digest(
        {
            "slide": slide_digest,
            "model": card.identity,
            "options": options.as_json(),
            "numerics": NUMERICS_VERSION,
            "precision": PRECISION,
            "tissue": TISSUE_VERSION,
        }
    )


def _submit(
    actor: Actor,
    job: NewJob,
    idempotency_key: str | None,
    body_digest: str,
    ledger: TenantLedger,
    queues: Queues,
    *,
    reuse_finished: bool,
) -> Submission:
    idempotency = Idempotency(key=idempotency_key, body_digest=body_digest) if idempotency_key else None
    submission = ledger.submit_job(actor, job, idempotency=idempotency, reuse_finished=reuse_finished)
    if not (submission.replayed or submission.reused):
        wake(queues, traceparent=job.traceparent)
    return submission


def _digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
