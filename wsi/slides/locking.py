"""S3 Object Lock, where an installation has it: legal holds on the objects of a slide, and the question whether one of
them is locked, which is asked before SQL forgets a name.

A hold reaches what a person would miss: the files of the slide, and plan and results of each job. It leaves out what
inspections store, since a restated scale replaces that, and shards, which the bucket removes after some weeks. Files by
reference are in buckets of others, and no lock of ours reaches them (docs/decisions/0139).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from wsi import keys
from wsi.errors import ObjectLocked
from wsi.ports.objects import ObjectLock, ObjectLocks
from wsi.records.slides import Slide


@dataclass(frozen=True, kw_only=True, slots=True)
class SlideLocks:
    """The locks in our two buckets."""

    slides: ObjectLocks
    results: ObjectLocks

    def set_legal_hold(self, slide: Slide, jobs: Sequence[UUID], *, held: bool) -> None:
        """Place or clear the legal hold of a slide's files and of the results of its jobs. Idempotent."""
        self.slides.set_legal_hold(keys.make_slide_folder(slide.tenant, slide.id), held=held)
        self.results.set_legal_hold(*(keys.make_job_prefix(slide.tenant, job) for job in jobs), held=held)

    def check_slide(self, slide: Slide, jobs: Sequence[UUID]) -> None:
        """Raise ObjectLocked if S3 would refuse to delete something of the slide or of its jobs."""
        files = self.slides.find_lock(keys.make_slide_folder(slide.tenant, slide.id))
        _check("The slide's files are", files)
        stored = [keys.make_job_prefix(slide.tenant, job) for job in jobs]
        results = self.results.find_lock(keys.make_inspections_prefix(slide.tenant, slide.id), *stored)
        _check("Results of the slide are", results)

    def check_job(self, tenant: UUID, job: UUID) -> None:
        """Raise ObjectLocked if S3 would refuse to delete something of the job."""
        _check("The job's results are", self.results.find_lock(keys.make_job_prefix(tenant, job)))


def _check(what: str, lock: ObjectLock | None) -> None:
    if lock is None:
        return
    if lock.until is None:
        raise ObjectLocked(
            f"{what} under a legal hold in S3; delete it once the administrator of the AWS account has ended that hold."
        )
    # Rounded up: at the second that is shown, the lock has ended.
    end = (lock.until + timedelta(microseconds=999_999)).replace(microsecond=0, tzinfo=None)
    raise ObjectLocked(f"{what} locked in S3 until {end.isoformat()}Z; delete it after that.")
