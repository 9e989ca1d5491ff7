"""Caches plans by job, with their slides open. The shards of a job share both; the jobs of a slide share its reader,
and with it the copy of a slide that only OpenSlide reads."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from uuid import UUID

from inference.shard_meter import ShardMeter
from wsi.errors import FailReason, JobFailed, SourceMissing
from wsi.planning.plan import Plan
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects, SlideStore
from wsi.records.jobs import Job
from wsi.slide.files.scratch import OnCopy, ScratchSpace
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_slide
from wsi.slide.reads import ReadCounter, attach_counter
from wsi.slide.slide import SlideReader

#: Jobs whose slide stays open: the current one, the next one, and one to return to.
MAX_OPEN = 3


@dataclass(frozen=True, slots=True)
class OpenPlan:
    """A plan with the reader of its slide."""

    tenant: UUID
    plan: Plan
    reader: SlideReader
    meter: ShardMeter  #: of the reads through `reader`, shared by all who share it

    def has_slide_of(self, tenant: UUID, plan: Plan) -> bool:
        """Return whether the other plan, of any model, reads the same version of the same files in the same way, and
        for the same tenant: another one may not read them."""
        mine = self.plan
        alike = (mine.slide_uris, mine.choice, mine.index) == (plan.slide_uris, plan.choice, plan.index)
        return alike and tenant == self.tenant


class PlanCache:
    """The open plans, for one thread."""

    def __init__(
        self, *, ledger: SystemLedger, objects: Objects, slides: SlideStore, scratch: ScratchSpace, device: str
    ) -> None:
        self._ledger = ledger
        self._objects = objects
        self._slides = slides
        self._scratch = scratch
        self._device = device
        self._open: OrderedDict[UUID, OpenPlan] = OrderedDict()

    def open(self, job: Job, on_copy: OnCopy | None = None) -> OpenPlan:
        """Return the job's plan with its slide open. `on_copy` follows the copy of a slide that only OpenSlide reads.

        Raises JobFailed without a plan, SourceChanged if the slide is no longer the planned one, SourceOutside if the
        tenant may not read it any more, though it be open; SourceError, SlideRejected.
        """
        if job.id in self._open:
            self._check(job, self._open[job.id].plan)
        else:
            self._open[job.id] = self._load(job, on_copy)
        self._open.move_to_end(job.id)
        while len(self._open) > MAX_OPEN:
            self._forget(next(iter(self._open)))
        return self._open[job.id]

    def close(self) -> None:
        """Close all slides."""
        for job_id in list(self._open):
            self._forget(job_id)

    def _check(self, job: Job, plan: Plan) -> None:
        for _, uri, _ in plan.slide_uris:
            self._slides.check_readable(uri, tenant=job.tenant)

    def _forget(self, job_id: UUID) -> None:
        reader = self._open.pop(job_id).reader
        if all(other.reader is not reader for other in self._open.values()):
            reader.close()

    def _load(self, job: Job, on_copy: OnCopy | None) -> OpenPlan:
        """Read the job's plan and open its slide, or share the reader of an open plan of the same slide."""
        if job.plan_key is None:
            raise JobFailed(FailReason.PLANNING_FAILED, "The job has no plan: ask for the analysis again.")
        try:
            plan = Plan.from_bytes(self._objects.get(job.plan_key))
        except SourceMissing as error:
            raise JobFailed(
                FailReason.PLANNING_FAILED, "The job's plan is gone: ask for the analysis again."
            ) from error
        for other in self._open.values():
            if other.has_slide_of(job.tenant, plan):
                self._check(job, plan)
                return OpenPlan(job.tenant, plan, other.reader, other.meter)
        names = [name for name, _, _ in plan.slide_uris]
        if plan.needs_names:
            names = self._ledger.list_file_names(job.slide_id)
        opened = [self._slides.open(uri, tenant=job.tenant, etag=etag) for _, uri, etag in plan.slide_uris]
        source = SlideSource(files=tuple(zip(names, opened, strict=True)))
        reads = ReadCounter()
        # No mpp: the plan's boxes are in pixels already. The index makes opening free of requests.
        reader = open_slide(
            attach_counter(source, reads),
            index=plan.index,
            choice=plan.choice,
            scratch=replace(self._scratch, on_copy=on_copy),
        )
        return OpenPlan(job.tenant, plan, reader, ShardMeter(reads, self._device))
