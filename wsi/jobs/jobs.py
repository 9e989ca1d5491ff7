"""Jobs: submitted, cancelled, retried.

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
from wsi.ledger_rules import make_unknown_model_error
from wsi.notices.outbox import wake
from wsi.notices.webhooks import check_url
from wsi.numerics import NUMERICS_VERSION, PRECISION, TISSUE_VERSION
from wsi.planning.estimate import estimate_tiles
from wsi.ports.ledger import TenantLedger
from wsi.ports.queues import Queues
from wsi.records.identity import Actor, Role
from wsi.records.jobs import Idempotency, Job, JobOptions, JobTerms, NewJob, Submission
from wsi.records.model_card import ModelCard
from wsi.records.models import ModelVersion
from wsi.records.slides import Inspection, Slide
from wsi.spans import join_trace
from wsi.states import JobState

CAPACITY_SECONDS = 60.0  #: RUNNING for so long without a lease means that no worker is there


@dataclass(frozen=True, kw_only=True, slots=True)
class JobRequest(JobTerms):
    slide_id: UUID
    model: str
    model_version: str | None = None  #: None: the default version, pinned when the job is made
    options: JobOptions = field(default_factory=JobOptions)
    force: bool = False  #: compute again although an equal job has finished or is under way
    warnings: tuple[str, ...] = ()  #: what of the drawn region was left out or changed; for the answer alone

    def compute_digest(self) -> str:
        """Return the digest of the request, which a repeated Idempotency-Key must come with again."""
        return _digest(
            {
                "slide_id": str(self.slide_id),
                "model": self.model,
                "model_version": self.model_version,
                "options": self.options.as_json(),
                "force": self.force,
                "label": None,
                # A term that nobody states is left out, as before there was one: a key of that time still fits.
                **{name: value for name, value in self.get_terms().items() if value is not None},
            }
        )


def submit_job(
    actor: Actor,
    request: JobRequest,
    *,
    idempotency_key: str | None,
    traceparent: str,
    ledger: TenantLedger,
    queues: Queues,
    dollars_per_gpu_hour: float | None = None,
) -> Submission:
    """Return a QUEUED job, or the one that answers the same question. Raises Forbidden, NotFound, Conflict; Invalid and
    SlideRejected for what planning would refuse as far as inspection knows, so that nobody waits for that answer."""
    require(actor, Role.ANALYST)
    if request.notify_webhook is not None:
        check_url(request.notify_webhook)
    slide, model = get_inputs(actor, request, ledger)
    traceparent = join_trace(traceparent, slide.traceparent, slide.created_at)
    options = pin_options(slide, request.options)
    tiles_expected = _estimate_tiles(slide, model, options)
    job = NewJob(
        id=uuid4(),
        slide_id=slide.id,
        slide_version=slide.version,
        model=model.name,
        model_version=model.version,
        model_digest=model.digest,
        options=options,
        identity=compute_identity(slide, ModelCard.from_json(model.card), options),
        traceparent=traceparent,
        tiles_expected=tiles_expected,
        **request.get_terms(),
    )
    submission = ledger.submit_job(
        actor,
        job,
        idempotency=_identify(idempotency_key, request.compute_digest()),
        reuse_finished=not request.force,
        share_live=not request.force,
        dollars_per_gpu_hour=dollars_per_gpu_hour,
    )
    return _wake_for(submission, queues)


def cancel_job(actor: Actor, job_id: UUID, *, ledger: TenantLedger, queues: Queues) -> Job:
    """Cancel the job; twice is the same as once. Raises Forbidden, NotFound, and Conflict for a job that has ended
    otherwise."""
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
    dollars_per_gpu_hour: float | None = None,
) -> Submission:
    """Return a new job with the pins of a FAILED or CANCELLED one, or an equal one that is under way. Planning takes
    over the finished shards of the old one. Raises Forbidden, NotFound, Conflict."""
    require(actor, Role.ANALYST)
    old = ledger.get_job(actor, job_id)
    if old.state not in (JobState.FAILED, JobState.CANCELLED):
        raise Conflict(f"The job is {old.state.value}; only a FAILED or CANCELLED job can be tried again.")
    slide = ledger.get_slide(actor, old.slide_id)
    model = ledger.get_model(actor, old.model, old.model_version, digest=old.model_digest)
    job = make_retry(old, slide, model, traceparent)
    submission = ledger.submit_job(
        actor,
        job,
        idempotency=_identify(idempotency_key, _digest({"retry_of": str(job_id)})),
        reuse_finished=False,
        share_live=True,
        dollars_per_gpu_hour=dollars_per_gpu_hour,
    )
    return _wake_for(submission, queues)


def make_retry(old: Job, slide: Slide, model: ModelVersion, traceparent: str) -> NewJob:
    """Return the job that computes again what `old` did not finish. Raises Conflict."""
    if pin_options(slide, old.options) != old.options:
        raise Conflict("Another scale or image was stated for the slide since this job was made: start a new job.")
    return NewJob(
        id=uuid4(),
        slide_id=old.slide_id,
        slide_version=slide.version,
        model=old.model,
        model_version=old.model_version,
        model_digest=old.model_digest,
        options=old.options,
        identity=compute_identity(slide, ModelCard.from_json(model.card), old.options),
        traceparent=traceparent,
        retry_of=old.id,
        tiles_expected=old.tiles_planned,
        **old.get_terms(),
    )


def get_inputs(actor: Actor, request: JobRequest, ledger: TenantLedger) -> tuple[Slide, ModelVersion]:
    """Return the slide and the model version that the request names. Raises NotFound, and Conflict for a version that
    is not READY yet, or was refused."""
    slide, model = ledger.find_inputs(actor, request.slide_id, request.model, request.model_version)
    if model is not None:
        return slide, model
    if request.model_version is None:
        raise make_unknown_model_error()
    known = ledger.get_registration(actor, request.model, request.model_version)
    raise Conflict(
        f"Version {known.version} of {known.name} is {known.state.value}; a job needs a version that is READY."
    )


def waits_for_capacity(job: Job, now: datetime) -> bool:
    """Return whether the job is RUNNING and no shard was leased within 60 s. This is derived, not a state."""
    waited = now - job.updated_at
    return job.state is JobState.RUNNING and job.first_lease_at is None and waited > timedelta(seconds=CAPACITY_SECONDS)


def pin_options(slide: Slide, options: JobOptions) -> JobOptions:
    """Return the options with what the user stated with the slide: the chosen image, and the microns a pixel unless the
    job states its own."""
    return replace(options, mpp=options.mpp if options.mpp is not None else slide.mpp, choice=slide.choice)


def compute_identity(slide: Slide, card: ModelCard, options: JobOptions) -> str:
    """Return the identity of a job over `slide`. Raises Conflict for a slide whose upload is not complete."""
    if slide.digest is None:
        raise Conflict(f"The slide is {slide.state.value}; a job needs a slide that is READY.")
    return compute_result_identity(slide.digest, card, options)


def compute_result_identity(slide_digest: str, card: ModelCard, options: JobOptions) -> str:
    """Return the hex sha256 of all that decides a result: equal identity, equal result."""
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


def _estimate_tiles(slide: Slide, model: ModelVersion, options: JobOptions) -> int:
    """Return about how many tiles the job will have; 0 for a slide that is not inspected. Raises what planning would,
    as far as inspection knows."""
    if slide.inspection is None:
        return 0
    return estimate_tiles(Inspection.from_json(slide.inspection), ModelCard.from_json(model.card), options)


def _identify(idempotency_key: str | None, body_digest: str) -> Idempotency | None:
    return Idempotency(key=idempotency_key, body_digest=body_digest) if idempotency_key else None


def _wake_for(submission: Submission, queues: Queues) -> Submission:
    if not (submission.replayed or submission.reused or submission.shared):
        wake(queues, traceparent=submission.job.traceparent)
    return submission


def _digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
