"""Deletion that erases: a slide or a job loses its names in SQL first, then all versions of its objects.

The caller of a deletion waits for both. Whatever dies between, the sweep deletes the objects again: five minutes after
the deletion, and once more after `LATE_SECONDS`, when nothing can run any more that began before it (a worker that
writes a checkpoint of a cancelled job, an inspection, a browser with the URL of a part). Only then is the slide or the
job recorded as erased. Nothing else reads what was deleted: SQL names no object of it any more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from wsi import keys
from wsi.access import require
from wsi.concurrency import map_concurrently
from wsi.errors import TesseraError
from wsi.ports.erasure import SystemErasure
from wsi.ports.ledger import TenantLedger
from wsi.ports.objects import Objects, SlideStore
from wsi.records.identity import Actor, Role
from wsi.records.slides import Slide
from wsi.uploads.uploads import drop_uploads

logger = logging.getLogger(__name__)

#: Between two passes over the objects of a slide or a job, and before the first: longer than a request or a sweep runs.
PASS_SECONDS = 300.0
#: Longer than anything writes that began before a deletion: functions end after 15 minutes, a URL of a part is good for
#: 15, and a worker that makes no step is replaced after half an hour.
LATE_SECONDS = 3_600.0
MOST_JOBS = 50  #: of a slide whose objects the caller of its deletion waits for; the sweep deletes those of the others
SLIDES_A_RUN = 10  #: of the sweep
JOBS_A_RUN = 50
EXPIRED_A_RUN = 50  #: of slides, and of jobs


@dataclass(frozen=True, kw_only=True, slots=True)
class Erased:
    """The outcome of one run of the sweep over what was deleted."""

    slides_erased: int = 0
    jobs_erased: int = 0
    erasures_failed: int = 0  #: S3 kept objects of them; they come again


def delete_slide(actor: Actor, slide_id: UUID, *, ledger: TenantLedger, slides: SlideStore, objects: Objects) -> None:
    """Delete a slide in any state, with its jobs. Files by reference stay where they are. Idempotent: called again, it
    deletes what a crash left. Raises Forbidden, NotFound; Conflict while a live job reads it, and under a legal
    hold."""
    require(actor, Role.ANALYST)
    slide = ledger.delete_slide(actor, slide_id)
    _erase_slide(slide, slides, objects)
    jobs = ledger.list_deleted_jobs(actor, slide_id, limit=MOST_JOBS)
    map_concurrently(lambda job: _erase_job(actor.tenant, job, objects), jobs)


def delete_job(actor: Actor, job_id: UUID, *, ledger: TenantLedger, objects: Objects) -> None:
    """Delete a job that has ended, with its results and all that was stored for it. Idempotent. Raises Forbidden,
    NotFound; Conflict while it is live, while a live job retries it, and under a legal hold of its slide."""
    require(actor, Role.ANALYST)
    ledger.delete_job(actor, job_id)
    _erase_job(actor.tenant, job_id, objects)


def set_legal_hold(actor: Actor, slide_id: UUID, *, held: bool, ledger: TenantLedger) -> Slide:
    """Begin or end the legal hold of a slide, and return the slide. Idempotent. Raises Forbidden, NotFound, Conflict
    for a slide that is deleted or not inspected yet."""
    require(actor, Role.ADMIN)
    return ledger.set_legal_hold(actor, slide_id, held=held)


def erase(*, ledger: SystemErasure, slides: SlideStore, objects: Objects) -> Erased:
    """Delete the objects of slides and jobs that were deleted, wherever they may still be there."""

    deleted_slides = ledger.claim_deleted_slides(seconds=PASS_SECONDS, limit=SLIDES_A_RUN)
    are_slides_gone = map_concurrently(
        lambda slide: _succeeds(lambda: _erase_slide(slide, slides, objects), "slide_id", slide.id), deleted_slides
    )
    deleted_jobs = ledger.claim_deleted_jobs(seconds=PASS_SECONDS, limit=JOBS_A_RUN)
    are_jobs_gone = map_concurrently(
        lambda job: _succeeds(lambda: _erase_job(job.tenant, job.id, objects), "job_id", job.id), deleted_jobs
    )
    gone_slides = [slide.id for slide, is_gone in zip(deleted_slides, are_slides_gone, strict=True) if is_gone]
    gone_jobs = [job.id for job, is_gone in zip(deleted_jobs, are_jobs_gone, strict=True) if is_gone]
    return Erased(
        slides_erased=sum(ledger.record_slide_erasure(one, late_seconds=LATE_SECONDS) for one in gone_slides),
        jobs_erased=sum(ledger.record_job_erasure(one, late_seconds=LATE_SECONDS) for one in gone_jobs),
        erasures_failed=[*are_slides_gone, *are_jobs_gone].count(False),
    )


def _succeeds(erase_one: Callable[[], None], kind: str, of: UUID) -> bool:
    try:
        erase_one()
    except TesseraError:  # the others' turn; this one comes again
        logger.exception("Not all objects could be erased.", extra={kind: str(of)})
        return False
    return True


def _erase_slide(slide: Slide, slides: SlideStore, objects: Objects) -> None:
    drop_uploads(slide, slides)
    slides.delete_below(keys.make_slide_folder(slide.tenant, slide.id))
    objects.delete_below(keys.make_inspections_prefix(slide.tenant, slide.id))


def _erase_job(tenant: UUID, job: UUID, objects: Objects) -> None:
    objects.delete_below(keys.make_job_prefix(tenant, job))
    objects.delete_below(keys.make_shards_prefix(tenant, job))
