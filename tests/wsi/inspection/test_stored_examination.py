"""What inspection keeps lets planning ask the slide for nothing; what does not hold any more is found anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tests.fakes.ledger import MemoryLedger
from tests.fakes.objects import MemoryObjects
from tests.fakes.slides import MemorySlideStore
from tests.slides import write_svs
from tests.slides.scn import write_scn
from tests.wsi.jobs.test_plan_and_stitch_jobs import Installation
from wsi import keys
from wsi.inspection.inspecting import inspect_slide
from wsi.jobs.estimating import estimate_job
from wsi.jobs.jobs import JobRequest
from wsi.models.builtin import STAIN_DENSITY
from wsi.numerics import PARSER_VERSION, TISSUE_VERSION
from wsi.planning.estimate import Estimate
from wsi.planning.plan import Plan
from wsi.planning.region_geojson import read_geojson
from wsi.records.identity import Actor, Role
from wsi.records.jobs import JobOptions
from wsi.records.models import ModelVersion
from wsi.records.slides import SlideFile
from wsi.slide.files.scratch import ScratchSpace
from wsi.slide.ranges import RangeSource
from wsi.slide.reads import CountedSource, ReadCounter
from wsi.sources.source import Source
from wsi.states import JobState, SlideState


class CountedSlides(MemorySlideStore):
    """Counts what is read of slides."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = ReadCounter()

    def open(self, uri: str, *, tenant: UUID | None = None, etag: str | None = None) -> RangeSource:
        return CountedSource(super().open(uri, tenant=tenant, etag=etag), self.reads)


Inspected = Callable[[Path], Installation]


@pytest.fixture
def inspected(tmp_path: Path) -> Inspected:
    """A slide that inspection took in; nothing is counted yet."""

    def installed(path: Path) -> Installation:
        slide_id, actor = uuid4(), Actor(tenant=uuid4(), subject="key:1", role=Role.ANALYST)
        ledger, slides, objects = (
            MemoryLedger(lambda: datetime(2026, 1, 1, tzinfo=UTC)),
            CountedSlides(),
            MemoryObjects(),
        )
        uri = slides.make_uri(keys.of_slide_file(actor.tenant, slide_id, 0))
        slides.put_object(uri, path.read_bytes())
        stored = slides.head(uri)
        file = SlideFile(name=path.name, uri=uri, size=stored.size, etag=stored.etag)
        ledger.register_slide(actor, slide_id, path.name, [file], mpp=None, digest="5e" * 32 + "-1")
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        state = inspect_slide(slide_id, ledger=ledger, slides=slides, objects=objects, scratch=ScratchSpace(scratch))
        assert state is SlideState.READY
        card = STAIN_DENSITY
        ledger.register_model(
            ModelVersion(
                name=card.name, version=card.version, digest=card.digest, card=card.as_json(), package_uri=None
            )
        )
        slides.reads = ReadCounter()
        return Installation(ledger, slides, objects, actor, slide_id, uri, scratch)

    return installed


@pytest.fixture
def svs(inspected: Inspected, tmp_path: Path) -> Installation:
    return inspected(write_svs(tmp_path / "a.svs", width=1500, height=1200, levels=(1, 4)))


def planned(site: Installation, options: JobOptions | None = None) -> tuple[Plan, ReadCounter]:
    """The plan, and what was read of the slide for it."""
    assert isinstance(site.slides, CountedSlides)
    site.slides.reads = ReadCounter()
    job_id = site.submit(options)
    assert site.plan(job_id)
    assert site.job(job_id).state is JobState.RUNNING
    return site.stored_plan(job_id), site.slides.reads


def kept(site: Installation) -> tuple[str, str]:
    folder = keys.find_inspection_folder(site.ledger.get_slide(site.actor, site.slide_id).thumbnail_key)
    assert folder is not None
    return keys.of_slide_index(folder), keys.of_tissue_mask(folder)


def test_a_plan_of_an_inspected_slide_asks_it_for_no_byte(svs: Installation):
    plan, reads = planned(svs)
    assert (reads.requests, reads.bytes) == (0, 0)
    assert len(plan.tiles) > 8
    assert plan.index == svs.objects.get(kept(svs)[0])


def test_the_plan_of_a_second_model_reads_no_byte_and_examines_nothing_again(
    svs: Installation, monkeypatch: pytest.MonkeyPatch
):
    first, _ = planned(svs)
    monkeypatch.setattr("wsi.jobs.planning.examine", None)
    # Another version of the model, on twice as large tiles.
    other = replace(STAIN_DENSITY, version="other", digest="ab" * 32, tile_px=2 * STAIN_DENSITY.tile_px)
    svs.ledger.register_model(
        ModelVersion(
            name=other.name, version=other.version, digest=other.digest, card=other.as_json(), package_uri=None
        )
    )
    assert isinstance(svs.slides, CountedSlides)
    svs.slides.reads = reads = ReadCounter()
    job_id = svs.submit(card=other)
    assert svs.plan(job_id)
    second = svs.stored_plan(job_id)
    assert (reads.requests, reads.bytes) == (0, 0)
    assert (second.index, second.inspection) == (first.index, first.inspection)
    assert first.mask is not None
    assert second.mask is not None
    assert second.mask.as_json() == first.mask.as_json()
    assert second.card.digest == other.digest
    assert second.digest != first.digest
    assert second.grid.side == 2 * first.grid.side


def test_the_plan_is_the_same_as_without_what_was_kept(svs: Installation):
    with_both, _ = planned(svs)
    for key in kept(svs):
        svs.objects.delete_below(key)
    without, reads = planned(svs)
    assert without.to_bytes() == with_both.to_bytes()
    assert reads.requests > 0


def test_without_the_mask_the_index_still_saves_the_directories(svs: Installation):
    svs.objects.delete_below(kept(svs)[1])
    _, with_index = planned(svs)
    svs.objects.delete_below(kept(svs)[0])
    _, without = planned(svs)
    assert 0 < with_index.requests < without.requests


@pytest.mark.parametrize("which", [0, 1])
def test_what_another_version_of_the_program_kept_is_found_anew(svs: Installation, which: int):
    expected, _ = planned(svs)
    key = kept(svs)[which]
    svs.objects.put(key, b"tessera-of-another-version\n" + svs.objects.get(key))
    plan, reads = planned(svs)
    assert plan.to_bytes() == expected.to_bytes()
    assert reads.requests > 0 or which == 1


def test_what_was_kept_of_other_bytes_is_found_anew(svs: Installation, inspected: Inspected, tmp_path: Path):
    """As when a slide was inspected, replaced in place and taken in again."""
    assert isinstance(svs.slides, CountedSlides)
    svs.slides.put_object(svs.uri, write_svs(tmp_path / "b.svs", width=1500, height=1200, seed=3).read_bytes())
    stored = svs.slides.head(svs.uri)
    ledger_slide = svs.ledger.get_slide(svs.actor, svs.slide_id)
    again = uuid4()
    file = replace(ledger_slide.files[0], size=stored.size, etag=stored.etag)
    svs.ledger.set_sources(svs.actor.tenant, Source("tessera-slides"))
    svs.ledger.register_slide(svs.actor, again, "again", [file], mpp=None, digest="6e" * 32 + "-1")
    folder = keys.make_inspection_folder(svs.actor.tenant, again, 1)
    svs.ledger.accept_slide(again, ledger_slide.inspection or {}, keys.of_thumbnail(folder), version=1)
    for old, new in zip(kept(svs), kept(replace(svs, slide_id=again)), strict=True):
        svs.objects.put(new, svs.objects.get(old))
    plan, reads = planned(replace(svs, slide_id=again))
    assert reads.requests > 0
    assert len(plan.inspection.levels) == 1


def test_microns_that_a_job_states_are_examined_with(svs: Installation):
    """Tissue is looked for at a scale, so that other microns may mean another mask."""
    plan, reads = planned(svs, JobOptions(mpp=0.25))
    assert (plan.mpp, plan.inspection.mpp_source) == (0.25, "override")
    assert reads.requests == 1  # the overview's level; the index is still the one that was kept


def dry_run(site: Installation, options: JobOptions | None = None) -> Estimate:
    request = JobRequest(slide_id=site.slide_id, model=STAIN_DENSITY.name, options=options or JobOptions())
    return estimate_job(site.actor, request, ledger=site.ledger, objects=site.objects, dollars_per_gpu_hour=1.0)


TRIANGLE = {"type": "Polygon", "coordinates": [[[20, 30.5], [1400, 200], [333, 1100], [20, 30.5]]]}


OPTIONS = {
    "as it is": JobOptions(),
    "anything": JobOptions(min_tissue=0.0),
    "much": JobOptions(min_tissue=0.7),
    "in a region": JobOptions(region=(300, 200, 500, 600), min_tissue=0.3),
    "drawn": JobOptions(outline=read_geojson(TRIANGLE).outline, min_tissue=0.4),
}


def test_a_dry_run_of_an_inspected_slide_is_the_plans_count(svs: Installation):
    plans = {name: len(planned(svs, options)[0].tiles) for name, options in OPTIONS.items()}
    counted = {name: dry_run(svs, options) for name, options in OPTIONS.items()}
    assert {name: each.tiles for name, each in counted.items()} == plans
    assert all(each.exact for each in counted.values())
    assert len(set(plans.values())) > 2


def test_with_other_microns_than_the_slides_a_dry_run_is_near(svs: Installation):
    options = JobOptions(mpp=0.25)
    plan, _ = planned(svs, options)
    assert dry_run(svs, options).exact is False
    assert dry_run(svs, options).tiles == pytest.approx(len(plan.tiles), abs=1)


OTHER_VERSIONS = [
    (f"tessera-mask-{PARSER_VERSION}\n", "tessera-mask-1\n"),
    (f'["version", {TISSUE_VERSION}]', '["version", 1]'),
]


def test_a_mask_of_another_version_is_counted_on_as_a_near_one_and_not_planned_with(svs: Installation):
    exact, key = dry_run(svs), kept(svs)[1]
    stored = svs.objects.get(key)
    for this, other in OTHER_VERSIONS:
        changed = stored.replace(this.encode(), other.encode())
        assert changed != stored
        svs.objects.put(key, changed)
        assert dry_run(svs) == replace(exact, exact=False)
        assert planned(svs)[1].requests > 0


def test_without_a_mask_a_dry_run_is_a_guess(svs: Installation):
    svs.objects.delete_below(kept(svs)[1])
    guessed = dry_run(svs)
    assert (guessed.exact, guessed.tiles > 8) == (False, True)


def test_the_summary_says_why_a_slide_was_read_from_a_copy(inspected: Inspected, tmp_path: Path):
    site = inspected(write_scn(tmp_path / "a.scn"))
    job_id = site.submit()
    site.plan(job_id)
    site.work(job_id)
    site.stitch(job_id)
    slide = json.loads(site.result(job_id, "summary.json"))["slide"]
    assert (slide["reading_path"], slide["path_reason"]) == (
        "scratch",
        (site.ledger.get_slide(site.actor, site.slide_id).inspection or {})["path_reason"],
    )
    assert slide["path_reason"].endswith(".")


def test_a_slide_that_only_openslide_reads_is_not_copied_for_a_plan(inspected: Inspected, tmp_path: Path):
    site = inspected(write_scn(tmp_path / "a.scn"))
    plan, reads = planned(site)
    assert (reads.requests, reads.bytes) == (0, 0)
    assert plan.index is None
    assert plan.inspection.reading_path == "scratch"
    assert list(site.scratch.iterdir()) == []
    site.objects.delete_below(kept(site)[1])
    again, reads = planned(site)
    assert reads.bytes > 0
    assert again.to_bytes() == plan.to_bytes()
    assert list(site.scratch.iterdir()) == []
