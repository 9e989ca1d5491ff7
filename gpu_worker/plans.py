"""Plans by job, with their slides open: the shards of one job share both, the jobs of one slide its reader, and with it
the copy of a slide that only OpenSlide reads."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from gpu_worker.measuring import Measuring
from wsi.errors import FailReason, JobFailed, SourceMissing
from wsi.plan import Plan
from wsi.ports.objects import Objects, SlideStore
from wsi.records.jobs import Job
from wsi.slide.opening import open_slide
from wsi.slide.reads import Reads, counted
from wsi.slide.scratch import OnCopy
from wsi.slide.slide import SlideReader
from wsi.slide.source import SlideSource

#: Jobs whose slide stays open: the one that runs, the next one, and one to come back to.
KEPT = 3


@dataclass(frozen=True, slots=True)
class OpenPlan:
    plan: Plan
    reader: SlideReader
    measuring: Measuring  #: of the slide's reads through `reader`, for whoever shares it

    def is_of_the_slide_of(self, plan: Plan) -> bool:
        """The same version of the same files, read alike: the plan may be of another model."""
        mine = self.plan
        return (mine.slide_uris, mine.choice, mine.index) == (plan.slide_uris, plan.choice, plan.index)


class Plans:
    """For one thread."""

    def __init__(
        self, *, objects: Objects, slides: SlideStore, scratch: Path, max_scratch_bytes: int, device: str
    ) -> None:
        self._objects = objects
        self._slides = slides
        self._scratch = scratch
        self._max_scratch_bytes = max_scratch_bytes
        self._device = device
        self._open: OrderedDict[UUID, OpenPlan] = OrderedDict()

    def open(self, job: Job, on_copy: OnCopy | None = None) -> OpenPlan:
        """`on_copy` follows the copy of a slide that only OpenSlide reads. Raises JobFailed without a plan,
        SourceChanged when the slide is not the planned one any more, SourceError, SlideRejected."""
        if job.id not in self._open:
            self._open[job.id] = self._load(job, on_copy)
        self._open.move_to_end(job.id)
        while len(self._open) > KEPT:
            self._forget(next(iter(self._open)))
        return self._open[job.id]

    def close(self) -> None:
        for job_id in list(self._open):
            self._forget(job_id)

    def _forget(self, job_id: UUID) -> None:
        reader = self._open.pop(job_id).reader
        if all(other.reader is not reader for other in self._open.values()):
            reader.close()

    def _load(self, job: Job, on_copy: OnCopy | None) -> OpenPlan:
        if job.plan_key is None:
            raise JobFailed(FailReason.PLANNING_FAILED, "The job has no plan: ask for the analysis again.")
        try:
            plan = Plan.from_bytes(self._objects.get(job.plan_key))
        except SourceMissing as error:
            raise JobFailed(
                FailReason.PLANNING_FAILED, "The job's plan is gone: ask for the analysis again."
            ) from error
        for other in self._open.values():
            if other.is_of_the_slide_of(plan):
                return OpenPlan(plan, other.reader, other.measuring)
        source = SlideSource(
            files=tuple((name, self._slides.open(uri, etag=etag)) for name, uri, etag in plan.slide_uris)
        )
        reads = Reads()
        self._scratch.mkdir(parents=True, exist_ok=True)
        # No mpp: the plan's boxes are in pixels already. The index makes opening free of requests.
        reader = open_slide(
            counted(source, reads),
            index=plan.index,
            choice=plan.choice,
            scratch=self._scratch,
            max_scratch_bytes=self._max_scratch_bytes,
            on_copy=on_copy,
        )
        return OpenPlan(plan, reader, Measuring(reads, self._device))
