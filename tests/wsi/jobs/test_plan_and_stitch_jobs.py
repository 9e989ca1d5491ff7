"""The two use cases around the workers, on the in-memory ports and a written slide."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest

from gpu_worker.plans import PlanCache
from tests.fakes.ledger import MemoryLedger
from tests.fakes.objects import MemoryObjects
from tests.fakes.slides import MemorySlideStore
from tests.shared_slides import shared_slide
from tests.slides import write_svs
from tests.slides.dicoms import EXPLICIT, Writing, tissue, write_picture
from tests.slides.mirax import write_mirax
from tests.wsi.plans import scores_of, shard_results
from tests.wsi.slide.sources import read_level
from wsi import keys
from wsi.errors import SourceUnavailable
from wsi.jobs.planning import plan_job
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import Plan
from wsi.records.identity import Actor, Role
from wsi.records.jobs import Job, JobOptions, NewJob
from wsi.records.model_card import ModelCard
from wsi.records.models import ModelVersion
from wsi.records.shards import Lease, ShardCount
from wsi.records.slides import Choice, SlideFile
from wsi.results.shard_result import ShardResult
from wsi.results.stitching import stitch_job
from wsi.slide.files.scratch import NO_COPIES, ScratchSpace
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_local_source, open_slide
from wsi.states import JobState

CLOCK = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Installation:
    """One tenant, one model, one slide that inspection accepted."""

    ledger: MemoryLedger
    slides: MemorySlideStore
    objects: MemoryObjects
    actor: Actor
    slide_id: UUID
    uri: str
    scratch: Path

    def submit(self, options: JobOptions | None = None, *, card: ModelCard = STAIN_DENSITY) -> UUID:
        job_id = uuid4()
        new = NewJob(
            id=job_id,
            slide_id=self.slide_id,
            slide_version=self.ledger.get_slide(self.actor, self.slide_id).version,
            model=card.name,
            model_version=card.version,
            model_digest=card.digest,
            options=options or JobOptions(),
            identity=uuid4().hex,
            traceparent="00-" + "1" * 32 + "-" + "2" * 16 + "-01",
        )
        self.ledger.submit_job(self.actor, new, idempotency=None, reuse_finished=False)
        return job_id

    def plan(self, job_id: UUID, *, shard_tiles: int | None = 10) -> bool:
        return plan_job(
            job_id,
            ledger=self.ledger,
            slides=self.slides,
            objects=self.objects,
            scratch=ScratchSpace(self.scratch),
            shard_tiles=shard_tiles,
        )

    def stitch(self, job_id: UUID) -> bool:
        return stitch_job(job_id, ledger=self.ledger, objects=self.objects)

    def job(self, job_id: UUID) -> Job:
        return self.ledger.get_job(self.actor, job_id)

    def stored_plan(self, job_id: UUID) -> Plan:
        return Plan.from_bytes(self.objects.get(keys.of_plan(self.actor.tenant, job_id)))

    def result(self, job_id: UUID, name: str) -> bytes:
        return self.objects.get(keys.of_result(self.actor.tenant, job_id, name))

    def work(self, job_id: UUID, unreadable: dict[int, str] | None = None) -> None:
        """What workers do: every shard leased, its result put and committed."""
        made = self.stored_plan(job_id)
        for index, result in enumerate(shard_results(made, scores_of(made), unreadable)):
            lease = self.ledger.lease_shard(job_id, index, owner="w", seconds=60)
            assert isinstance(lease, Lease)
            key = keys.of_shard_result(self.actor.tenant, job_id, index, lease.attempt)
            self.objects.put(key, result.to_bytes())
            count = ShardCount(inferred=len(result.tiles), unreadable=len(result.unreadable))
            assert self.ledger.commit_shard(lease, result_key=key, count=count, tiles_per_second=50.0)


Install = Callable[..., Installation]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    def installed(slide: Path, *, mpp: float | None = None, choice: Choice | None = None) -> Installation:
        slide_id, actor = uuid4(), Actor(tenant=uuid4(), subject="key:1", role=Role.ANALYST)
        ledger, slides = MemoryLedger(lambda: CLOCK), MemorySlideStore()
        files = list[SlideFile]()
        for number, (name, _) in enumerate(open_local_source(slide).files):
            uri = slides.make_uri(keys.of_slide_file(actor.tenant, slide_id, number))
            data = (slide.parent / name).read_bytes()
            slides.put_object(uri, data)
            files.append(SlideFile(name=name, uri=uri, size=len(data), etag=slides.head(uri).etag))
        uri = files[0].uri
        ledger.register_slide(actor, slide_id, slide.name, files, mpp=mpp, choice=choice, digest="5e" * 32 + "-1")
        inspection = open_slide(open_local_source(slide), choice=choice).inspection.as_json()
        folder = keys.make_inspection_folder(actor.tenant, slide_id, 1)
        ledger.accept_slide(slide_id, inspection, keys.of_thumbnail(folder), version=1)
        card = STAIN_DENSITY
        ledger.register_model(
            ModelVersion(
                name=card.name, version=card.version, digest=card.digest, card=card.as_json(), package_uri=None
            )
        )
        return Installation(ledger, slides, MemoryObjects(), actor, slide_id, uri, tmp_path)

    return installed


@pytest.fixture
def site(install: Install, tmp_path: Path) -> Installation:
    return install(write_svs(tmp_path / "a.svs", width=2600, height=2000))


def test_a_job_is_planned_and_its_shards_wait(site: Installation):
    job_id = site.submit()
    assert site.plan(job_id)
    job, made = site.job(job_id), site.stored_plan(job_id)
    assert job.state is JobState.RUNNING
    assert job.plan_digest == made.digest
    assert job.tiles_planned == len(made.tiles) > 30
    assert job.shards_total == len(made.shard_sizes) == -(-len(made.tiles) // 10)
    ((name, uri, etag),) = made.slide_uris
    assert name == "00000.svs"
    assert (uri, etag) == (site.uri, site.slides.head(site.uri).etag)
    assert made.slide_digest == "5e" * 32 + "-1"


def test_the_index_in_the_plan_opens_the_slide_again(site: Installation):
    job_id = site.submit()
    site.plan(job_id)
    made = site.stored_plan(job_id)
    ((name, uri, etag),) = made.slide_uris
    source = SlideSource(files=((name, site.slides.open(uri, etag=etag)),))
    again = open_slide(source, index=made.index)
    assert again.inspection.levels == made.inspection.levels


@pytest.mark.parametrize("parser", ["same", "another"])
def test_the_plan_of_a_chosen_picture_leads_workers_to_it(install: Install, tmp_path: Path, parser: str):
    """By its index, and for a worker that cannot read the index by the choice."""
    planes = [tissue(300, 200, seed) for seed in range(2)]
    choice = Choice(focal_plane=2)
    how = Writing(syntax=EXPLICIT, photometric="RGB", planes=2)
    site = install(write_picture(tmp_path / "a.dcm", planes[0], how, planes[1]), choice=choice)
    job_id = site.submit(JobOptions(choice=choice))
    assert site.plan(job_id)
    made = site.stored_plan(job_id)
    assert made.choice == choice
    assert made.digest != replace(made, choice=None).digest
    if parser == "another":
        made = replace(made, index=b"tessera-index-0\n")
        site.objects.put(keys.of_plan(site.actor.tenant, job_id), made.to_bytes())
    plans = PlanCache(ledger=site.ledger, objects=site.objects, slides=site.slides, scratch=NO_COPIES, device="cpu")
    np.testing.assert_array_equal(read_level(plans.open(site.job(job_id)).reader, 0), planes[1])


@pytest.mark.parametrize("odd", [False, True], ids=["usual", "odd"])
def test_a_plan_holds_no_name_that_a_user_gave_and_its_slide_opens(install: Install, tmp_path: Path, odd: bool):
    """Of a slide whose files refer to each other by name, and that only OpenSlide reads. Odd: a file in its folder has
    a name that is not the format's own; then workers find all names in SQL."""
    pixels = tissue(512, 512, 0)
    path = write_mirax(tmp_path / "Smith_John.mrxs", pixels)
    if odd:
        (tmp_path / "Smith_John" / "Data0000.dat").rename(tmp_path / "Smith_John" / "Smith.dat")
        listed = tmp_path / "Smith_John" / "Slidedat.ini"
        listed.write_text(listed.read_text().replace("Data0000.dat", "Smith.dat"))
    site = install(path)
    job_id = site.submit()
    assert site.plan(job_id)
    made, stored = site.stored_plan(job_id), site.objects.get(keys.of_plan(site.actor.tenant, job_id))
    parts = ("00001", "00002", "00003") if odd else ("00000/Data0000.dat", "00000/Index.dat", "00000/Slidedat.ini")
    assert sorted(name for name, _, _ in made.slide_uris) == sorted(("00000.mrxs", *parts))
    assert b"Smith" not in gzip.decompress(stored)
    assert made.needs_names is odd
    plans = PlanCache(
        ledger=site.ledger, objects=site.objects, slides=site.slides, scratch=ScratchSpace(site.scratch), device="cpu"
    )
    opened = plans.open(site.job(job_id))
    assert read_level(opened.reader, 0).shape == pixels.shape
    plans.close()


def test_planning_twice_after_a_death_before_the_commit_is_the_same_plan(site: Installation):
    job_id = site.submit()
    site.ledger.begin_planning(job_id)  # and the planner dies
    site.plan(job_id)
    first = site.objects.get(keys.of_plan(site.actor.tenant, job_id))
    other = site.submit()
    site.plan(other)
    assert site.objects.get(keys.of_plan(site.actor.tenant, other)) == first


def test_a_second_plan_message_does_nothing(site: Installation):
    job_id = site.submit()
    site.plan(job_id)
    before = site.job(job_id)
    assert not site.plan(job_id)
    assert site.job(job_id) == before


def test_stitching_completes_the_job_and_a_second_message_does_nothing(site: Installation):
    job_id = site.submit()
    site.plan(job_id)
    assert not site.stitch(job_id)  # shards are still out
    site.work(job_id)
    assert site.stitch(job_id)
    assert site.job(job_id).state is JobState.COMPLETED
    assert sorted(file.name for file in site.ledger.list_results(site.actor, job_id)) == [
        "heatmap.ome.tif",
        "summary.json",
        "tile_quality.csv",
        "tiles.csv",
        "tiles.geojson.gz",
        "tissue.png",
    ]
    assert len(site.result(job_id, "tiles.csv").splitlines()) == 1 + len(site.stored_plan(job_id).tiles)
    held, before = dict(site.objects.held), site.job(job_id)
    assert not site.stitch(job_id)
    assert site.objects.held == held
    assert site.job(job_id) == before


def test_tables_do_not_depend_on_the_shard_size(site: Installation):
    tables: set[tuple[bytes, ...]] = set()
    for shard_tiles in (7, 1000):
        job_id = site.submit()
        site.plan(job_id, shard_tiles=shard_tiles)
        site.work(job_id)
        site.stitch(job_id)
        names = ("tiles.csv", "tiles.geojson.gz", "heatmap.ome.tif", "tissue.png", "tile_quality.csv")
        tables.add(tuple(site.result(job_id, name) for name in names))
    assert len(tables) == 1


def test_unreadable_tiles_end_in_their_own_state(site: Installation):
    job_id = site.submit()
    site.plan(job_id)
    site.work(job_id, {0: "file tile 65: Not a JPEG file"})
    assert site.stitch(job_id)
    assert site.job(job_id).state is JobState.COMPLETED_WITH_UNREADABLE_TILES
    summary = json.loads(site.result(job_id, "summary.json"))
    assert summary["status"] == "COMPLETED_WITH_UNREADABLE_TILES"
    assert summary["run"]["job_id"] == str(job_id)


def test_a_lost_shard_result_fails_the_job(site: Installation):
    job_id = site.submit()
    site.plan(job_id)
    site.work(job_id)
    site.objects.delete_below(keys.make_shard_prefix(site.actor.tenant, job_id, 1))
    assert site.stitch(job_id)
    job = site.job(job_id)
    assert (job.state, job.reason) == (JobState.FAILED, "stitching_failed")


def test_shards_that_do_not_add_up_fail_the_job_with_counts(site: Installation):
    job_id = site.submit()
    site.plan(job_id)
    site.work(job_id)
    key = keys.of_shard_result(site.actor.tenant, job_id, 0, 1)
    whole = ShardResult.from_bytes(site.objects.get(key))
    site.objects.put(key, replace(whole, tiles=whole.tiles[1:], scores=whole.scores[1:], quality=None).to_bytes())
    assert site.stitch(job_id)
    job = site.job(job_id)
    assert (job.state, job.reason) == (JobState.FAILED, "stitching_failed")
    assert "1 are missing" in (job.sentence or "")


def test_a_region_of_glass_ends_without_tissue_and_with_every_file(site: Installation):
    job_id = site.submit(JobOptions(region=(0, 0, 100, 100)))
    assert site.plan(job_id)
    assert site.job(job_id).state is JobState.NO_TISSUE
    assert len(site.ledger.list_results(site.actor, job_id)) == 6
    assert site.result(job_id, "tiles.csv").splitlines() == [
        b"minx,miny,width,height,haematoxylin_od,eosin_od,dab_od,nuclear_fraction"
    ]
    assert json.loads(gzip.decompress(site.result(job_id, "tiles.geojson.gz")))["features"] == []
    assert json.loads(site.result(job_id, "summary.json"))["status"] == "NO_TISSUE"


def test_a_region_off_the_slide_fails_the_job(site: Installation):
    job_id = site.submit(JobOptions(region=(5000, 0, 100, 100)))
    assert site.plan(job_id)
    assert (site.job(job_id).state, site.job(job_id).reason) == (JobState.FAILED, "planning_failed")


def test_a_slide_too_coarse_fails_the_job_and_upsampling_runs_it(site: Installation):
    job_id = site.submit(JobOptions(mpp=1.0))
    assert site.plan(job_id)
    job = site.job(job_id)
    assert (job.state, job.reason) == (JobState.FAILED, "slide_rejected")
    assert "µm per pixel" in (job.sentence or "")
    allowed = site.submit(JobOptions(mpp=1.0, allow_upsampling=True))
    site.plan(allowed)
    assert site.stored_plan(allowed).grid.side == 128


def test_a_replaced_slide_fails_the_job(site: Installation):
    job_id = site.submit()
    site.slides.put_object(site.uri, b"another file")
    assert site.plan(job_id)
    assert (site.job(job_id).state, site.job(job_id).reason) == (JobState.FAILED, "slide_changed")


def test_a_lost_slide_fails_the_job(site: Installation):
    job_id = site.submit()
    site.slides.delete(site.uri)
    assert site.plan(job_id)
    assert (site.job(job_id).state, site.job(job_id).reason) == (JobState.FAILED, "slide_unreadable")


def test_a_store_that_does_not_answer_leaves_the_job_to_the_next_delivery(site: Installation):
    class Silent(MemorySlideStore):
        def open(self, uri: str, *, tenant: UUID | None = None, etag: str | None = None):
            raise SourceUnavailable("The store does not answer.")

    job_id = site.submit()
    with pytest.raises(SourceUnavailable):
        replace(site, slides=Silent()).plan(job_id)
    assert site.job(job_id).state is JobState.PLANNING
    assert site.plan(job_id)
    assert site.job(job_id).state is JobState.RUNNING


def test_a_cancelled_job_is_not_planned(site: Installation):
    job_id = site.submit()
    site.ledger.cancel_job(site.actor, job_id)
    assert not site.plan(job_id)
    assert not site.objects.held


def test_a_real_slide_is_planned_over_its_tissue(install: Install):
    site = install(shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs"))
    job_id = site.submit()
    assert site.plan(job_id)
    made = site.stored_plan(job_id)
    assert (made.inspection.width, made.inspection.height, made.mpp) == (2220, 2967, 0.499)
    assert (made.grid.side, made.grid.level, made.grid.columns, made.grid.rows) == (257, 0, 9, 12)
    assert 0 < len(made.tiles) <= 9 * 12
