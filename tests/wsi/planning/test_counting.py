from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.wsi.plans import inspection, plan, small_card
from wsi.errors import JobFailed
from wsi.planning.grid import count_tiles, select_tiles
from wsi.planning.plan import Grid
from wsi.planning.scale import MAX_BOXES
from wsi.records.jobs import JobOptions

Mask = NDArray[np.bool_]


def grid(slide: tuple[int, int], box: tuple[int, int]) -> Grid:
    return Grid(
        side=box[0],
        side_y=box[1],
        stride=box[0],
        stride_y=box[1],
        columns=-(-slide[0] // box[0]),
        rows=-(-slide[1] // box[1]),
        level=0,
        level_side=box[0],
        level_side_y=box[1],
        level_downsample=1.0,
        level_downsample_y=1.0,
    )


@st.composite
def masks(draw: st.DrawFn) -> Mask:
    height, width = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    share = draw(st.sampled_from([0.0, 0.02, 0.3, 0.9, 1.0]))
    return np.random.default_rng(draw(st.integers(0, 2**16))).random((height, width)) < share


@st.composite
def slides_and_boxes(draw: st.DrawFn) -> tuple[tuple[int, int], tuple[int, int]]:
    """Of at most 100 boxes a side, longer than wide or not, finer and coarser than the mask."""
    slide = draw(st.tuples(st.integers(1, 5000), st.integers(1, 5000)))
    box = tuple(draw(st.integers(max(1, side // 100), side + 50)) for side in slide)
    return slide, (box[0], box[1])


THRESHOLDS = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]) | st.floats(0, 1)
REGIONS = st.none() | st.tuples(st.floats(0, 0.999), st.floats(0, 0.999), st.integers(1, 6000), st.integers(1, 6000))


@settings(deadline=None, max_examples=300)  # benchmarks/estimates.py draws without end
@given(masks(), slides_and_boxes(), THRESHOLDS, REGIONS)
def test_the_count_is_that_of_the_planner(mask, slide_and_box, least, region):
    slide, box = slide_and_box
    if region is not None:
        region = (int(region[0] * slide[0]), int(region[1] * slide[1]), *region[2:])
    planned = select_tiles(grid(slide, box), mask, width=slide[0], height=slide[1], min_tissue=least, region=region)
    assert count_tiles(mask, slide=slide, box=box, min_tissue=least, region=region) == len(planned)


@settings(deadline=None, max_examples=100)
@given(masks(), st.integers(1, 60), st.integers(0, 3600))
def test_a_box_that_holds_just_as_much_as_is_asked_for_falls_as_the_planner_lets_it(mask, side, share):
    """Thresholds that are shares of whole mask pixels: rounding in the last place would decide."""
    slide = mask.shape[1] * side, mask.shape[0] * side
    for box in ((2 * side, 3 * side), (7 * side, side)):
        least = min(1.0, share / (box[0] * box[1] / side**2) / 100)
        planned = select_tiles(grid(slide, box), mask, width=slide[0], height=slide[1], min_tissue=least)
        assert count_tiles(mask, slide=slide, box=box, min_tissue=least) == len(planned)


def test_a_region_that_begins_left_of_the_slide_counts_what_it_overlaps():
    full = np.ones((10, 10), bool)
    sizes = {"slide": (1000, 1000), "box": (100, 100), "min_tissue": 0.5}
    assert count_tiles(full, **sizes, region=(-50, -50, 60, 151)) == 1 * 2
    assert count_tiles(full, **sizes, region=(0, 0, 5000, 1)) == 10


def test_a_mask_that_inspection_makes_is_counted_as_the_plan_does():
    y, x = np.mgrid[:1500, :2048]
    mask = ((x - 900) ** 2 + (y - 700) ** 2 < 500**2) & ((x // 40 + y // 30) % 3 != 0)
    seen = inspection(120_000, 90_000)
    for side, options in ((224, JobOptions()), (700, JobOptions(min_tissue=0.6, region=(30_000, 20_000, 44_444, 9)))):
        planned = plan(seen, mask=mask, card=replace(small_card(), tile_px=side), options=options).tiles
        counted = count_tiles(
            mask,
            slide=(120_000, 90_000),
            box=(side, side),
            min_tissue=options.min_tissue,
            region=options.region,
        )
        assert counted == len(planned) > 20


def test_a_plan_of_more_boxes_than_anybody_counts_fails():
    with pytest.raises(JobFailed, match=f"more than {MAX_BOXES:,}"):
        plan(inspection(300_000, 300_000), card=small_card())
