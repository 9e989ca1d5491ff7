"""Deletion that erases: a slide or a job loses its names in SQL first, then all versions of its objects.

The caller of a deletion waits for both. Whatever dies between, the sweep deletes the objects again: five minutes after
the deletion, and once more after `LATE_SECONDS`, when nothing can run any more that began before it (a worker that
writes a checkpoint of a cancelled job, an inspection, a browser with the URL of a part). Only then is the slide or the
job recorded as erased. Nothing else reads what was deleted: SQL names no object of it any more.

Where the buckets have S3 Object Lock, S3 is asked before SQL: what is locked there keeps its names here
(docs/decisions/0139).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from wsi import keys
from wsi.access import require
from wsi.concurrency import map_concurrently
from wsi.errors import NotFound, ObjectLocked, TesseraError
from wsi.ledger_rules import check_ended, check_unheld
from wsi.ports.erasure import SystemErasure
from wsi.ports.ledger import TenantLedger
from wsi.ports.objects import Objects, SlideStore
from wsi.records.identity import Actor, Role
from wsi.records.jobs import JobFilter
from wsi.records.quotas import Expired
from wsi.records.slides import Slide
from wsi.slides.locking import SlideLocks
from wsi.states import SlideState
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
LOCKED_SECONDS = 3_600.0  #: until S3 is asked again whether it still locks what is to expire
JOBS_A_PAGE = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Erased:
    """The outcome of one run of the sweep over what was deleted."""

    slides_erased: int = 0
    jobs_erased: int = 0
    erasures_failed: int = 0  #: S3 kept objects of them; they come again


def delete_slide(
    actor: Actor,
    slide_id: UUID,
    *,
    ledger: TenantLedger,
    slides: SlideStore,
    objects: Objects,
    locks: SlideLocks | None,
) -> None:
    """Delete a slide in any state, with its jobs. Files by reference stay where they are. Idempotent: called again, it
    deletes what a crash left. Raises Forbidden, NotFound; Conflict while a live job reads it, under a legal hold, and
    while S3 locks one of its objects."""
    require(actor, Role.ANALYST)
    if locks is not None:
        _check_slide_unlocked(actor, slide_id, ledger, locks)
    slide = ledger.delete_slide(actor, slide_id)
    _erase_slide(slide, slides, objects)
    jobs = ledger.list_deleted_jobs(actor, slide_id, limit=MOST_JOBS)
    map_concurrently(lambda job: _erase_job(actor.tenant, job, objects), jobs)


def delete_job(actor: Actor, job_id: UUID, *, ledger: TenantLedger, objects: Objects, locks: SlideLocks | None) -> None:
    """Delete a job that has ended, with its results and all that was stored for it. Idempotent. Raises Forbidden,
    NotFound; Conflict while it is live, while a live job retries it, under a legal hold of its slide, and while S3
    locks one of its objects."""
    require(actor, Role.ANALYST)
    if locks is not None:
        _check_job_unlocked(actor, job_id, ledger, locks)
    ledger.delete_job(actor, job_id)
    _erase_job(actor.tenant, job_id, objects)


def set_legal_hold(
    actor: Actor, slide_id: UUID, *, held: bool, ledger: TenantLedger, locks: SlideLocks | None
) -> Slide:
    """Begin or end the legal hold of a slide, and return the slide. Idempotent. Raises Forbidden, NotFound, Conflict
    for a slide that is deleted or not inspected yet.

    SQL comes first when a hold begins and last when it ends: whatever dies between SQL and S3, the slide is held, and
    the same request does the rest. Where SQL has no hold, one in S3 is not ours to end.
    """
    require(actor, Role.ADMIN)
    slide = ledger.set_legal_hold(actor, slide_id, held=True) if held else ledger.get_slide(actor, slide_id)
    if locks is not None and slide.legal_hold:
        locks.set_legal_hold(slide, _list_jobs(actor, slide_id, ledger), held=held)
    return slide if held else ledger.set_legal_hold(actor, slide_id, held=False)


def expire(*, ledger: SystemErasure, locks: SlideLocks | None) -> Expired:
    """Delete what is older than its tenant keeps it, but for what S3 keeps locked: its names would be gone, and its
    bytes would not."""
    if locks is None:
        return ledger.delete_expired(limit=EXPIRED_A_RUN)
    slides = ledger.claim_expired_slides(seconds=LOCKED_SECONDS, limit=SLIDES_A_RUN)
    are_slides_free = map_concurrently(
        lambda slide: _is_free(lambda: locks.check_slide(slide, ledger.list_kept_jobs(slide.id)), "slide_id", slide.id),
        slides,
    )
    jobs = ledger.claim_expired_jobs(seconds=LOCKED_SECONDS, limit=JOBS_A_RUN)
    are_jobs_free = map_concurrently(
        lambda job: _is_free(lambda: locks.check_job(job.tenant, job.id), "job_id", job.id), jobs
    )
    free_slides = [slide.id for slide, is_free in zip(slides, are_slides_free, strict=True) if is_free]
    free_jobs = [job.id for job, is_free in zip(jobs, are_jobs_free, strict=True) if is_free]
    return ledger.delete_expired(limit=EXPIRED_A_RUN, among=[*free_slides, *free_jobs])


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


def _check_slide_unlocked(actor: Actor, slide_id: UUID, ledger: TenantLedger, locks: SlideLocks) -> None:
    slide = ledger.get_slide(actor, slide_id)
    if slide.state is SlideState.DELETED:  # its names are gone already
        return
    check_unheld(slide)
    locks.check_slide(slide, _list_jobs(actor, slide_id, ledger))


def _check_job_unlocked(actor: Actor, job_id: UUID, ledger: TenantLedger, locks: SlideLocks) -> None:
    try:
        job = ledger.get_job(actor, job_id)
    except NotFound:  # it was deleted already, or it is somebody else's: its deletion in SQL tells them apart
        return
    check_unheld(ledger.get_slide(actor, job.slide_id))
    check_ended(job)
    locks.check_job(actor.tenant, job_id)


def _list_jobs(actor: Actor, slide_id: UUID, ledger: TenantLedger) -> list[UUID]:
    """List all jobs of the slide that are not deleted."""
    wanted = JobFilter(slide_id=slide_id)
    page = ledger.list_jobs(actor, wanted, cursor=None, limit=JOBS_A_PAGE)
    found = [job.id for job in page.items]
    while page.next_cursor is not None:
        page = ledger.list_jobs(actor, wanted, cursor=page.next_cursor, limit=JOBS_A_PAGE)
        found += [job.id for job in page.items]
    return found


def _is_free(check: Callable[[], None], kind: str, of: UUID) -> bool:
    """Return whether S3 would delete it now."""
    try:
        check()
    except ObjectLocked as locked:
        logger.info("Its time is over, but S3 keeps it locked.", extra={kind: str(of), "lock": locked.sentence})
        return False
    except TesseraError:  # the others' turn; this one comes again
        logger.exception("Its locks could not be read.", extra={kind: str(of)})
        return False
    return True


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
