"""Another image of a slide is stated: nothing of the image before is used for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.installation import ANALYST, Installation
from tests.slides.dicoms import Writing, tissue, write_picture
from tests.wsi.inspection.test_inspecting import inspect, take_in
from wsi import keys
from wsi.errors import NotFound
from wsi.jobs.jobs import JobRequest, submit_job
from wsi.jobs.planning import plan_job
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import Plan
from wsi.records.identity import Actor
from wsi.records.restatement import Restatement
from wsi.records.slides import Choice
from wsi.slide.files.scratch import ScratchSpace
from wsi.slide.ranges import RangeSource
from wsi.slides.restating import restate_slide
from wsi.states import JobState, SlideState
from wsi.tracing import make_traceparent
from wsi.viewer.kept_views import KeptViews
from wsi.viewer.viewing import view_tile


@pytest.fixture
def installation() -> Installation:
    return Installation()


@pytest.fixture
def planes(tmp_path: Path) -> Path:
    """A DICOM slide of two planes of focus, the second of which shows tissue on the right only."""
    second = tissue(1024, 768, 1)
    second[:, :512] = 244
    return write_picture(tmp_path / "a.dcm", tissue(1024, 768), Writing(tile=256, planes=2), second)


def restate(installation: Installation, slide_id: UUID, **stated: Any) -> None:
    restate_slide(
        ANALYST,
        slide_id,
        Restatement(**stated),
        ledger=installation.ledger,
        objects=installation.objects,
        queues=installation.queues,
        traceparent=make_traceparent(),
    )


def planned(installation: Installation, slide_id: UUID, tmp_path: Path) -> Plan:
    request = JobRequest(slide_id=slide_id, model=STAIN_DENSITY.name, force=True)
    ports = {"ledger": installation.ledger, "queues": installation.queues}
    job = submit_job(ANALYST, request, idempotency_key=str(uuid4()), traceparent=make_traceparent(), **ports).job
    assert plan_job(
        job.id,
        ledger=installation.ledger,
        slides=installation.slides,
        objects=installation.objects,
        scratch=ScratchSpace(tmp_path),
        shard_tiles=None,
    )
    assert installation.ledger.get_job(ANALYST, job.id).state is JobState.RUNNING
    plan = Plan.from_bytes(installation.objects.get(keys.of_plan(job.tenant, job.id)))
    installation.ledger.cancel_job(ANALYST, job.id)
    return plan


def test_a_plan_and_a_view_are_of_the_image_that_is_stated_now(
    installation: Installation, planes: Path, tmp_path: Path
) -> None:
    slide_id = take_in(installation, planes, choice=Choice(focal_plane=1))
    other_id = take_in(installation, planes, choice=Choice(focal_plane=2))
    for each in (slide_id, other_id):
        assert inspect(installation, each, tmp_path) is SlideState.READY
    views = KeptViews(ledger=installation.ledger, slides=installation.slides, objects=installation.objects)
    first = views.view(ANALYST, slide_id, etag=None)
    before = planned(installation, slide_id, tmp_path)

    restate(installation, slide_id, focal_plane=2)
    assert inspect(installation, slide_id, tmp_path) is SlideState.READY

    after, other = planned(installation, slide_id, tmp_path), planned(installation, other_id, tmp_path)
    assert (before.choice, after.choice) == (Choice(focal_plane=1), Choice(focal_plane=2))
    assert before.mask is not None
    assert after.mask is not None
    assert other.mask is not None
    assert after.index == other.index != before.index
    assert after.mask.as_json() == other.mask.as_json() != before.mask.as_json()
    assert after.tiles.tobytes() == other.tiles.tobytes()

    assert views.view(ANALYST, slide_id, etag=first.etag) is first  # its tiles lie in caches under this etag, too
    second, same = views.view(ANALYST, slide_id, etag=None), views.view(ANALYST, other_id, etag=None)
    assert (first.choice, second.choice) == (Choice(focal_plane=1), Choice(focal_plane=2))
    assert second.etag != first.etag
    assert views.view(ANALYST, slide_id, etag=first.etag) is second  # whose etag the caller then misses
    place = (len(first.levels) - 1, 1, 1)
    assert view_tile(second, *place).jpeg == view_tile(same, *place).jpeg != view_tile(first, *place).jpeg


def test_another_process_shows_the_new_tiles_as_soon_as_somebody_asks_for_them(
    installation: Installation, planes: Path, tmp_path: Path
) -> None:
    slide_id = take_in(installation, planes, choice=Choice(focal_plane=1))
    inspect(installation, slide_id, tmp_path)
    ports = {"ledger": installation.ledger, "slides": installation.slides, "objects": installation.objects}
    one, other = KeptViews(**ports), KeptViews(**ports)
    old = one.view(ANALYST, slide_id, etag=None)
    restate(installation, slide_id, focal_plane=2)
    inspect(installation, slide_id, tmp_path)
    new = other.view(ANALYST, slide_id, etag=None)
    assert one.view(ANALYST, slide_id, etag=new.etag).etag == new.etag != old.etag


def test_another_scale_shows_the_same_tiles_with_the_new_scale(
    installation: Installation, planes: Path, tmp_path: Path
) -> None:
    slide_id = take_in(installation, planes, choice=Choice(focal_plane=1))
    inspect(installation, slide_id, tmp_path)
    views = KeptViews(ledger=installation.ledger, slides=installation.slides, objects=installation.objects)
    before = views.view(ANALYST, slide_id, etag=None)
    restate(installation, slide_id, mpp=0.125)
    inspect(installation, slide_id, tmp_path)
    after = views.view(ANALYST, slide_id, etag=None)
    assert (after.inspection.mpp_x, after.etag) == (0.125, before.etag)
    assert after.inspection.mpp_x != before.inspection.mpp_x
    assert views.view(ANALYST, slide_id, etag=before.etag) is after


def test_an_inspection_that_ends_late_leaves_the_new_one_alone(
    installation: Installation, planes: Path, tmp_path: Path
) -> None:
    """The function hangs while it reads; meanwhile its message comes again, and the user states another image."""
    slide_id = take_in(installation, planes, choice=Choice(focal_plane=1))

    class Hanging:
        """The store as the late inspection sees it."""

        def open(self, uri: str, *, tenant: UUID | None = None, etag: str | None = None) -> RangeSource:
            inspect(installation, slide_id, tmp_path)
            restate(installation, slide_id, focal_plane=2)
            inspect(installation, slide_id, tmp_path)
            return installation.slides.open(uri, tenant=tenant, etag=etag)

    assert inspect(installation, slide_id, tmp_path, slides=Hanging()) is None
    slide = installation.ledger.get_slide(ANALYST, slide_id)
    assert (slide.state, slide.choice) == (SlideState.READY, Choice(focal_plane=2))
    fresh = take_in(installation, planes, choice=Choice(focal_plane=2))
    inspect(installation, fresh, tmp_path)
    assert planned(installation, slide_id, tmp_path).index == planned(installation, fresh, tmp_path).index


def test_a_choice_that_the_slide_does_not_offer_is_refused_and_can_be_taken_back(
    installation: Installation, planes: Path, tmp_path: Path
) -> None:
    slide_id = take_in(installation, planes, choice=Choice(focal_plane=1))
    inspect(installation, slide_id, tmp_path)
    restate(installation, slide_id, focal_plane=7)
    assert inspect(installation, slide_id, tmp_path) is SlideState.REJECTED
    assert installation.ledger.get_slide(ANALYST, slide_id).reason == "no_such_choice"
    restate(installation, slide_id, focal_plane=1)
    assert inspect(installation, slide_id, tmp_path) is SlideState.READY


def test_the_slide_of_another_tenant_is_not_there(installation: Installation, planes: Path) -> None:
    slide_id = take_in(installation, planes)
    stranger = Actor(tenant=uuid4(), subject="key:9", role=ANALYST.role)
    with pytest.raises(NotFound):
        restate_slide(
            stranger,
            slide_id,
            Restatement(mpp=0.5),
            ledger=installation.ledger,
            objects=installation.objects,
            queues=installation.queues,
            traceparent=make_traceparent(),
        )


def test_the_audit_log_says_what_was_stated_and_no_text_of_it():
    stated = Restatement(name="Smith, John", optical_path="Smith's", mpp=0.5, picture=2, focal_plane=None)
    said = {"name": True, "optical_path": True, "mpp": 0.5, "picture": 2, "focal_plane": None}
    assert stated.make_audit_detail() == said
