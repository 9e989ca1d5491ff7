"""Which jobs a function plans, and which go to the process for heavy ones."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from adapters.settings import queues
from wsi.plan_queue import COARSEST_PIXELS, COPIED_BYTES, HEAVY, PLAN, plan_queue
from wsi.records.slides import Inspection, LevelInfo, Slide, SlideFile
from wsi.states import SlideState

GPX = 1_000_000_000


def slide(inspection: dict[str, Any] | None, *sizes: int) -> Slide:
    return Slide(
        id=uuid4(),
        tenant=uuid4(),
        name="Case 7",
        state=SlideState.READY,
        files=tuple(SlideFile(name=f"{n}", uri=f"s3://b/{n}", size=size) for n, size in enumerate(sizes)),
        inspection=inspection,
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
def test_a_large_copy_or_no_overview_makes_a_plan_heavy(path, pixels, sizes, queue):
    assert plan_queue(slide(inspected(path, *pixels), *sizes)) == queue


@pytest.mark.parametrize("inspection", [None, {}, {"levels": []}, {"format": "svs", "levels": [{"width": 2220}]}])
def test_what_inspection_does_not_say_makes_nothing_heavy(inspection):
    assert plan_queue(slide(inspection, 20 * COPIED_BYTES)) == PLAN


def test_both_are_queues():
    assert HEAVY == queues.HEAVY
    assert {PLAN, HEAVY} <= set(queues.QUEUES)
