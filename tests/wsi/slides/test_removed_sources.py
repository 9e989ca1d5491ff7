"""A slide by reference can be read as long as a source of its tenant covers it, by every reader."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

import pytest

from lambdas import tiles
from tests.installation import ALLOWED_BUCKET, ANALYST, HOSPITAL, Installation
from tests.lambdas.test_tiles import Viewer
from tests.slides import write_svs
from tests.wsi.inspection.test_inspecting import inspect
from wsi.errors import FailReason, SourceOutside
from wsi.jobs.jobs import JobRequest, submit_job
from wsi.jobs.planning import plan_job
from wsi.models.builtin import STAIN_DENSITY
from wsi.slide.files.scratch import NO_COPIES
from wsi.slides.slides import register_slide
from wsi.sources.source import Source
from wsi.states import JobState, SlideState
from wsi.tracing import make_traceparent
from wsi.viewer.kept_views import CHECKED_SECONDS, KeptViews

URI = f"s3://{ALLOWED_BUCKET}/labs/a/scan.svs"
COVERING = Source(ALLOWED_BUCKET, "labs/a/")


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    made = Installation()
    made.ledger.set_sources(HOSPITAL, COVERING)
    made.slides.put_object(URI, write_svs(tmp_path / "scan.svs", width=1200, height=900, mpp=0.5).read_bytes())
    return made


@pytest.fixture
def registered(installation: Installation) -> UUID:
    return register_slide(
        ANALYST,
        URI,
        mpp=None,
        ledger=installation.ledger,
        slides=installation.slides,
        queues=installation.queues,
        traceparent=make_traceparent(),
    ).id


@pytest.fixture
def slide_id(installation: Installation, registered: UUID, tmp_path: Path) -> UUID:
    assert inspect(installation, registered, tmp_path) is SlideState.READY
    return registered


@pytest.fixture
def viewer(installation: Installation) -> Viewer:
    wiring = tiles.TilesWiring(ledger=installation.ledger, slides=installation.slides, objects=installation.objects)
    return Viewer(tiles.make_handler(wiring), ANALYST)


def test_the_viewer_shows_neither_the_slide_nor_its_picture(installation, slide_id, viewer):
    assert viewer.get(f"/slides/{slide_id}/pyramid").status == viewer.get(f"/slides/{slide_id}/thumbnail").status == 200
    installation.ledger.set_sources(HOSPITAL, Source(ALLOWED_BUCKET, "labs/b/"))
    for path in ("pyramid", "thumbnail"):
        refused = viewer.get(f"/slides/{slide_id}/{path}")
        assert (refused.status, refused.body["type"].rsplit("/")[-1]) == (403, "source_outside")
    installation.ledger.set_sources(HOSPITAL, COVERING)
    assert viewer.get(f"/slides/{slide_id}/pyramid").status == 200


def test_a_view_that_is_open_closes_within_minutes(installation, slide_id):
    now = 0.0
    kept = KeptViews(
        ledger=installation.ledger, slides=installation.slides, objects=installation.objects, clock=lambda: now
    )
    etag = kept.view(ANALYST, slide_id, etag=None).etag
    installation.ledger.set_sources(HOSPITAL)
    now = CHECKED_SECONDS
    for _ in range(2):
        with pytest.raises(SourceOutside):
            kept.view(ANALYST, slide_id, etag=etag)


def test_inspection_rejects_the_slide_and_says_what_to_do(installation, registered, tmp_path):
    installation.ledger.set_sources(HOSPITAL)
    assert inspect(installation, registered, tmp_path) is SlideState.REJECTED
    assert "Ask the operator" in installation.ledger.get_slide(ANALYST, registered).sentence


def test_a_job_on_the_slide_fails_and_says_what_to_do(installation, slide_id):
    job = submit_job(
        ANALYST,
        JobRequest(slide_id=slide_id, model=STAIN_DENSITY.name),
        idempotency_key=None,
        traceparent=make_traceparent(),
        ledger=installation.ledger,
        queues=installation.queues,
    ).job
    installation.ledger.set_sources(HOSPITAL)
    assert plan_job(
        job.id,
        ledger=installation.ledger,
        slides=installation.slides,
        objects=installation.objects,
        scratch=NO_COPIES,
        shard_tiles=None,
    )
    failed = installation.ledger.get_job(ANALYST, job.id)
    assert (failed.state, failed.reason) == (JobState.FAILED, FailReason.SLIDE_UNREADABLE)
    assert "Ask the operator" in failed.sentence


def test_a_source_of_another_tenant_does_not_help(installation, slide_id, viewer):
    installation.ledger.set_sources(HOSPITAL)
    installation.ledger.set_sources(uuid4(), COVERING)
    assert viewer.get(f"/slides/{slide_id}/pyramid").status == 403
