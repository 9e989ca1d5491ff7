"""Jobs of one slide share what is open of it; each has its own plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from gpu_worker.plans import MAX_OPEN, PlanCache
from tests.fakes.slides import MemorySlideStore
from tests.gpu_worker.installation import Installation, version_of
from tests.slides.scn import write_scn
from wsi.errors import SourceOutside
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.jobs import Job
from wsi.records.model_card import ModelCard
from wsi.slide.files.scratch import ScratchSpace
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.ranges import RangeSource
from wsi.slide.reads import CountedSource, ReadCounter
from wsi.sources.source import Source

OTHER = replace(STAIN_DENSITY, name="other", digest="ab" * 32)


class CountedSlides(MemorySlideStore):
    """Counts openings, and what is read."""

    def __init__(self, held: MemorySlideStore) -> None:
        super().__init__()
        self.reads = ReadCounter()
        self.openings = 0
        self._held = held

    def check_readable(self, uri: str, *, tenant: UUID | None) -> None:
        self._held.check_readable(uri, tenant=tenant)

    def open(self, uri: str, *, tenant: UUID | None = None, etag: str | None = None) -> RangeSource:
        self.openings += 1
        return CountedSource(self._held.open(uri, tenant=tenant, etag=etag), self.reads)


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


def plans_of(installation: Installation) -> tuple[PlanCache, CountedSlides]:
    slides = CountedSlides(installation.slides)
    scratch = ScratchSpace(installation.folder / "scratch")
    parts = {"objects": installation.objects, "slides": slides, "scratch": scratch}
    return PlanCache(ledger=installation.ledger, **parts, device="cpu"), slides


def job_of(installation: Installation, card: ModelCard) -> Job:
    installation.ledger.register_model(version_of(card))
    return installation.planned_job(card=card)[0]


def copies(installation: Installation) -> int:
    return len(list((installation.folder / "scratch").iterdir()))


def test_a_second_model_on_a_slide_opens_and_reads_nothing_of_it(installation: Installation) -> None:
    plans, slides = plans_of(installation)
    first = plans.open(job_of(installation, STAIN_DENSITY))
    opened, read = slides.openings, slides.reads.requests
    second = plans.open(job_of(installation, OTHER))
    assert (slides.openings, slides.reads.requests) == (opened, read) == (1, 0)
    assert (second.reader, second.meter) == (first.reader, first.meter)
    assert second.plan.card.name == "other"
    assert second.plan.digest != first.plan.digest
    plans.close()


def test_a_slide_that_was_replaced_between_two_jobs_is_opened_anew(installation: Installation) -> None:
    plans, slides = plans_of(installation)
    first = plans.open(job_of(installation, STAIN_DENSITY))
    installation.slides.put_object(installation.uri, installation.slide_path.read_bytes() + b"\0")
    installation.reader = open_slide(SlideSource(files=(("slide.svs", installation.slides.open(installation.uri)),)))
    second = plans.open(job_of(installation, OTHER))
    assert slides.openings == 2
    assert second.reader is not first.reader
    plans.close()


def test_a_copy_is_made_once_and_stays_as_long_as_a_job_of_the_slide_does(installation: Installation) -> None:
    path = write_scn(installation.folder / "a.scn")
    installation.slides.put_object(installation.uri, path.read_bytes())
    installation.reader = open_slide(open_local_source(path))
    plans, slides = plans_of(installation)
    jobs = [job_of(installation, STAIN_DENSITY), job_of(installation, OTHER)]
    first, second = map(plans.open, jobs)
    assert (slides.openings, copies(installation)) == (1, 1)
    assert first.reader is second.reader
    for version in range(1, MAX_OPEN):  # the first job's plan goes
        installation.slides.put_object(installation.uri, path.read_bytes() + bytes(version))
        plans.open(job_of(installation, STAIN_DENSITY))
    assert copies(installation) == MAX_OPEN
    assert second.reader.inspection.levels
    plans.open(jobs[1])
    assert copies(installation) == MAX_OPEN
    plans.close()
    assert copies(installation) == 0


def test_a_slide_that_is_open_is_closed_to_a_tenant_that_lost_its_source(installation: Installation) -> None:
    uri = "s3://lab-slides/labs/a/scan.svs"
    ledger = installation.ledger
    ledger.set_sources(installation.tenant, Source("lab-slides", "labs/a/"))
    installation.slides = MemorySlideStore(allowed_buckets=["lab-slides"], list_sources=ledger.list_sources)
    installation.slides.put_object(uri, installation.slide_path.read_bytes())
    installation.uri = uri
    first, second = (job_of(installation, card) for card in (STAIN_DENSITY, OTHER))
    plans, slides = plans_of(installation)
    plans.open(first)
    ledger.set_sources(installation.tenant)
    for job in (first, second):
        with pytest.raises(SourceOutside):
            plans.open(job)
    ledger.set_sources(installation.tenant, Source("lab-slides"))
    assert plans.open(first).reader is plans.open(second).reader
    assert slides.openings == 1


def test_a_slide_that_is_open_is_closed_to_other_tenants(installation: Installation) -> None:
    job = job_of(installation, STAIN_DENSITY)
    plans, _ = plans_of(installation)
    plans.open(job)
    with pytest.raises(SourceOutside):
        plans.open(replace(job, id=uuid4(), tenant=uuid4()))
