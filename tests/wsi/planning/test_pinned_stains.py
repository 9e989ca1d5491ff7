"""A slide's stains are estimated once, by whoever plans, and are the same wherever that is."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest
import simplejpeg

from tests.fakes.ledger import MemoryLedger
from tests.fakes.objects import MemoryObjects
from tests.slides import write_svs
from tests.wsi.inspection.test_stored_examination import CountedSlides
from wsi import keys
from wsi.inspection.examination import examine
from wsi.inspection.inspecting import inspect_slide
from wsi.jobs.planning import make_plan, plan_job
from wsi.models.builtin import EPITHELIUM, STAIN_DENSITY
from wsi.planning.plan import Plan
from wsi.planning.region_geojson import read_geojson
from wsi.planning.stains import estimate_stains
from wsi.records.identity import Actor, Role
from wsi.records.jobs import JobOptions, NewJob
from wsi.records.model_card import ModelCard
from wsi.records.models import ModelVersion
from wsi.records.slides import SlideFile
from wsi.slide.files.scratch import ScratchSpace
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.reads import ReadCounter
from wsi.states import JobState, SlideState

DIGEST = "5e" * 32 + "-1"
DRAWN = {"type": "Polygon", "coordinates": [[[0, 0], [1900, 0], [1900, 1900], [0, 1900], [0, 0]]]}


@pytest.fixture
def slide(tmp_path: Path) -> Path:
    return write_svs(tmp_path / "a.svs", width=2600, height=2000)


def local_plan(slide: Path, card: ModelCard = EPITHELIUM, options: JobOptions | None = None) -> Plan:
    """As `tessera run` makes it."""
    reader = open_slide(open_local_source(slide))
    return make_plan(
        slide_digest=DIGEST,
        slide_uris=[("a.svs", "file", "1")],
        reader=reader,
        examination=examine(reader),
        card=card,
        package_uri=None,
        options=options or JobOptions(),
        shard_tiles=None,
        threads=1,
    )


class Site:
    """A slide that inspection took in, and the model."""

    def __init__(self, slide: Path, scratch: Path) -> None:
        self.scratch = scratch
        self.slide_id, self.actor = uuid4(), Actor(tenant=uuid4(), subject="key:1", role=Role.ANALYST)
        self.ledger = MemoryLedger(lambda: datetime(2026, 1, 1, tzinfo=UTC))
        self.slides, self.objects = CountedSlides(), MemoryObjects()
        uri = self.slides.make_uri(keys.of_slide_file(self.actor.tenant, self.slide_id, 0))
        self.slides.put_object(uri, slide.read_bytes())
        stored = self.slides.head(uri)
        file = SlideFile(name=slide.name, uri=uri, size=stored.size, etag=stored.etag)
        self.ledger.register_slide(self.actor, self.slide_id, slide.name, [file], mpp=None, digest=DIGEST)
        state = inspect_slide(
            self.slide_id,
            ledger=self.ledger,
            slides=self.slides,
            objects=self.objects,
            scratch=ScratchSpace(scratch),
        )
        assert state is SlideState.READY
        for card in (EPITHELIUM, STAIN_DENSITY):
            self.ledger.register_model(
                ModelVersion(
                    name=card.name, version=card.version, digest=card.digest, card=card.as_json(), package_uri=None
                )
            )
        self.slides.reads = ReadCounter()

    def planned(self, card: ModelCard) -> Plan:
        job_id = self._submitted(card)
        assert plan_job(
            job_id,
            ledger=self.ledger,
            slides=self.slides,
            objects=self.objects,
            scratch=ScratchSpace(self.scratch),
            shard_tiles=None,
        )
        assert self.ledger.get_job(self.actor, job_id).state is JobState.RUNNING
        return Plan.from_bytes(self.objects.get(keys.of_plan(self.actor.tenant, job_id)))

    def _submitted(self, card: ModelCard) -> UUID:
        new = NewJob(
            id=uuid4(),
            slide_id=self.slide_id,
            slide_version=self.ledger.get_slide(self.actor, self.slide_id).version,
            model=card.name,
            model_version=card.version,
            model_digest=card.digest,
            identity=uuid4().hex,
            traceparent="00-" + "1" * 32 + "-" + "2" * 16 + "-01",
        )
        self.ledger.submit_job(self.actor, new, idempotency=None, reuse_finished=False)
        return new.id


@pytest.fixture
def site(slide: Path, tmp_path: Path) -> Site:
    return Site(slide, tmp_path)


def test_the_plan_pins_the_stains_of_the_overview_that_inspection_keeps(slide: Path) -> None:
    examined = examine(open_slide(open_local_source(slide)))
    overview = simplejpeg.decode_jpeg(examined.thumbnail_jpeg, colorspace="RGB")
    assert local_plan(slide).numerics.stains == estimate_stains(overview, examined.mask.pixels)


def test_models_that_take_rgb_have_no_stains_pinned(slide: Path, site: Site) -> None:
    assert local_plan(slide, STAIN_DENSITY).numerics.stains is None
    assert site.planned(STAIN_DENSITY).numerics.stains is None


def test_a_drawn_region_has_the_stains_of_its_slide(slide: Path) -> None:
    drawn = local_plan(slide, options=JobOptions(outline=read_geojson(DRAWN).outline))
    assert drawn.numerics.stains == local_plan(slide).numerics.stains
    assert not np.array_equal(drawn.tiles, local_plan(slide).tiles)


def test_a_queued_plan_pins_what_a_local_run_pins_and_reads_no_byte_of_the_slide_for_it(
    slide: Path, site: Site
) -> None:
    queued = site.planned(EPITHELIUM)
    assert queued.numerics.stains is not None
    assert queued.digest == local_plan(slide).digest
    assert site.slides.reads.bytes == 0


def test_a_slide_whose_overview_is_gone_is_examined_again_and_has_the_same_stains(slide: Path, site: Site) -> None:
    site.objects.delete_below(site.ledger.get_slide(site.actor, site.slide_id).thumbnail_key or "none")
    queued = site.planned(EPITHELIUM)
    assert queued.digest == local_plan(slide).digest
    assert site.slides.reads.bytes > 0
