"""Which jobs a function plans, and which go to the process for heavy ones."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from adapters.settings import queues
from tests.fakes.objects import MemoryObjects
from tests.wsi.slide.sources import CountingSource
from wsi import keys
from wsi.inspection.examination import Examination
from wsi.inspection.mask import DETECTED, SlideMask
from wsi.inspection.stored_examination import UnreadSlide, find_stored_examination, store_examination
from wsi.inspection.tissue import SETTINGS
from wsi.planning.plan_queue import COARSEST_PIXELS, COPIED_BYTES, HEAVY, PLAN, choose_plan_queue
from wsi.records.jobs import JobOptions
from wsi.records.slides import Inspection, LevelInfo, Slide, SlideFile
from wsi.slide.files.source import SlideSource
from wsi.slide.mpp import override_mpp
from wsi.states import SlideState

GPX = 1_000_000_000


STATED = JobOptions(mpp=0.25)  #: what no inspection here looked at


FOLDER = "tenants/t/slides/s/2/"  #: of the inspection


def slide(inspection: dict[str, Any] | None, *sizes: int, mpp: float | None = None) -> Slide:
    return Slide(
        id=uuid4(),
        tenant=uuid4(),
        name="Case 7",
        state=SlideState.READY,
        files=tuple(SlideFile(name=f"{n}", uri=f"s3://b/{n}", size=size) for n, size in enumerate(sizes)),
        inspection=inspection,
        thumbnail_key=keys.of_thumbnail(FOLDER),
        mpp=mpp,
        created_by="user:a",
        created_at=datetime.now(UTC),
    )


def inspected(path: str, *pixels: int) -> dict[str, Any]:
    """As inspection stores it; a level for each number of pixels."""
    levels = tuple(
        LevelInfo(width=count // 1000, height=1000, downsample=4.0**n, tile_width=240, tile_height=240)
        for n, count in enumerate(pixels)
    )
    return Inspection(
        format="svs",
        reading_path=path,
        vendor=None,
        width=levels[0].width,
        height=1000,
        levels=levels,
        mpp_x=0.5,
        mpp_y=0.5,
        mpp_source="aperio",
    ).as_json()


@pytest.mark.parametrize(
    ("path", "pixels", "sizes", "queue"),
    [
        ("native", (10 * GPX, 40_000_000), (20 * COPIED_BYTES,), PLAN),
        ("scratch", (10 * GPX, 40_000_000), (COPIED_BYTES,), PLAN),
        ("scratch", (10 * GPX, 40_000_000), (COPIED_BYTES + 1,), HEAVY),
        ("scratch", (10 * GPX, 40_000_000), (COPIED_BYTES // 2, COPIED_BYTES // 2 + 1), HEAVY),
        ("native", (COARSEST_PIXELS,), (1000,), PLAN),
        ("native", (COARSEST_PIXELS + 1000,), (1000,), HEAVY),
        ("native", (10 * GPX, COARSEST_PIXELS + 1000), (1000,), HEAVY),
    ],
)
def test_a_large_copy_or_no_overview_makes_a_plan_heavy_that_looks_anew(path, pixels, sizes, queue):
    assert choose_plan_queue(slide(inspected(path, *pixels), *sizes), STATED) == queue


@pytest.mark.parametrize(("path", "pixels"), [("scratch", 40_000_000), ("native", 10 * GPX)])
def test_a_plan_that_begins_with_what_inspection_kept_is_not_heavy(path, pixels):
    large = slide(inspected(path, pixels), 20 * COPIED_BYTES)
    assert choose_plan_queue(large, JobOptions()) == PLAN
    assert choose_plan_queue(large, JobOptions(fast=True, region=(0, 0, 9, 9))) == PLAN


@pytest.mark.parametrize(
    ("file", "job", "queue"),
    [(0.25, None, PLAN), (0.25, 0.25, PLAN), (None, 0.25, PLAN), (0.25, 0.26, HEAVY), (None, None, HEAVY)],
)
def test_a_scale_that_was_stated_before_inspection_counts_as_looked_at(file, job, queue):
    found = Inspection.from_json(inspected("scratch", 40_000_000))
    large = slide(override_mpp(found, 0.25).as_json(), 20 * COPIED_BYTES, mpp=file)
    assert choose_plan_queue(large, JobOptions(mpp=job)) == queue


@pytest.mark.parametrize("inspected_at", [None, 0.25, 0.5])
@pytest.mark.parametrize("of_slide", [None, 0.25, 0.5])
@pytest.mark.parametrize("of_job", [None, 0.25, 0.5])
def test_a_plan_is_heavy_exactly_where_what_inspection_kept_does_not_hold(inspected_at, of_slide, of_job):
    found = override_mpp(Inspection.from_json(inspected("scratch", 40_000_000)), inspected_at)
    objects, record = MemoryObjects(), slide(found.as_json(), 20 * COPIED_BYTES, mpp=of_slide)
    kept = Examination(found, b"", SlideMask(np.ones((4, 4), np.bool_), DETECTED, SETTINGS))
    source = SlideSource(files=(("0", CountingSource(b"")),))
    store_examination(objects, FOLDER, source, UnreadSlide(found), kept)
    held = find_stored_examination(objects, record, source, of_job if of_job is not None else of_slide)
    assert (choose_plan_queue(record, JobOptions(mpp=of_job)) == PLAN) == (held is not None)


@pytest.mark.parametrize("inspection", [None, {}, {"levels": []}, {"format": "svs", "levels": [{"width": 2220}]}])
def test_what_inspection_does_not_say_makes_nothing_heavy(inspection):
    assert choose_plan_queue(slide(inspection, 20 * COPIED_BYTES), STATED) == PLAN


def test_both_are_queues():
    assert HEAVY == queues.HEAVY
    assert {PLAN, HEAVY} <= set(queues.QUEUES)
