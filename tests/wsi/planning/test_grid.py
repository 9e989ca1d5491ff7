from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wsi.plans import inspection, small_card
from wsi.errors import FailReason, JobFailed, SlideRejected
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.grid import (
    compute_exact_boxes,
    compute_level_boxes,
    compute_read_boxes,
    make_grid,
    order_tiles,
    reduce_level,
    select_tiles,
)
from wsi.records.model_card import Boxes, ReadLevel
from wsi.records.slides import LevelInfo

WHOLE = np.ones((50, 50), dtype=np.bool_)


def test_the_grid_covers_the_slide_and_the_last_boxes_pass_its_edge():
    grid = make_grid(inspection(1000, 777), STAIN_DENSITY, (0.5, 0.5))
    assert (grid.side, grid.stride, grid.columns, grid.rows) == (256, 256, 4, 4)
    assert grid.columns * grid.side > 1000
    assert grid.rows * grid.side > 777


def test_a_box_is_stated_in_pixels_of_the_level_that_is_read():
    grid = make_grid(inspection(8000, 8000, mpp=0.25, downsamples=(1, 2.0005, 4)), STAIN_DENSITY, (0.25, 0.25))
    assert (grid.level, grid.side, grid.level_side) == (1, 512, 256)
    assert compute_level_boxes(grid, np.array([[512, 1024]], dtype=np.int32)).tolist() == [[256, 512]]


@pytest.mark.parametrize(
    ("card", "asked", "level"),
    [("suitable", None, 1), ("finest", None, 0), ("suitable", "finest", 0), ("finest", "suitable", 1)],
)
def test_a_card_or_a_job_may_ask_for_level_0(card, asked, level):
    slide = inspection(8_000, 8_000, mpp=0.25, downsamples=(1, 2, 8))
    model = replace(STAIN_DENSITY, mpp=0.5, read_level=ReadLevel(card))
    grid = make_grid(slide, model, (0.25, 0.25), read_level=ReadLevel(asked) if asked else None)
    assert (grid.level, grid.level_side) == (level, grid.side // (2 if level else 1))


def test_level_0_of_a_slide_that_is_too_coarse_is_refused_as_well():
    model = replace(STAIN_DENSITY, mpp=0.5, read_level=ReadLevel.FINEST)
    with pytest.raises(SlideRejected, match="allow upsampling"):
        make_grid(inspection(8_000, 8_000, mpp=1.0), model, (1.0, 1.0))


def test_more_boxes_than_any_slide_has_are_refused_before_they_are_made():
    with pytest.raises(JobFailed) as failed:
        make_grid(inspection(1_000_000, 1_000_000), small_card(), (0.5, 0.5))
    assert failed.value.reason is FailReason.PLANNING_FAILED


def test_edge_tile_is_planned_not_dropped():
    # One pixel of the slide lies in the last column and in the last row; the mask is far coarser than that.
    seen = inspection(1025, 769)
    grid = make_grid(seen, STAIN_DENSITY, (0.5, 0.5))
    tiles = select_tiles(grid, WHOLE, width=1025, height=769, min_tissue=0.1)
    assert len(tiles) == grid.columns * grid.rows == 5 * 4
    assert tiles[-1].tolist() == [1024, 768]


def test_a_slide_smaller_than_a_tile_is_one_tile():
    grid = make_grid(inspection(200, 150), STAIN_DENSITY, (0.5, 0.5))
    assert select_tiles(grid, WHOLE, width=200, height=150, min_tissue=0.1).tolist() == [[0, 0]]


def test_tiles_are_numbered_by_x_then_y():
    grid = make_grid(inspection(600, 600), STAIN_DENSITY, (0.5, 0.5))
    tiles = select_tiles(grid, WHOLE, width=600, height=600, min_tissue=0.1).tolist()
    assert tiles == sorted(tiles)
    assert tiles[1] == [0, 256]


def test_share_of_tissue_counts_only_the_part_inside_the_slide():
    # The last column is 24 px wide; tissue fills it, and nothing else.
    mask = np.zeros((256, 280), dtype=np.bool_)
    mask[:, 256:] = True
    grid = make_grid(inspection(280, 256), STAIN_DENSITY, (0.5, 0.5))
    assert select_tiles(grid, mask, width=280, height=256, min_tissue=1.0).tolist() == [[256, 0]]


@pytest.mark.parametrize(("min_tissue", "taken"), [(0.0, 1), (0.25, 1), (0.26, 0)])
def test_the_threshold_is_inclusive_and_nothing_is_never_enough(min_tissue, taken):
    mask = np.zeros((4, 8), dtype=np.bool_)
    mask[:2, :2] = True  # a quarter of the first of two boxes
    grid = make_grid(inspection(512, 256), STAIN_DENSITY, (0.5, 0.5))
    assert len(select_tiles(grid, mask, width=512, height=256, min_tissue=min_tissue)) == taken


def test_boxes_smaller_than_a_pixel_of_the_mask_take_its_value():
    mask = np.array([[True, False]])
    grid = make_grid(inspection(1280, 640), small_card(), (0.5, 0.5))
    tiles = select_tiles(grid, mask, width=1280, height=640, min_tissue=0.5)
    assert len(tiles) == 100
    assert tiles[:, 0].max() == 576


def test_a_region_takes_the_boxes_it_overlaps_and_moves_none():
    seen = inspection(2000, 1500)
    grid = make_grid(seen, STAIN_DENSITY, (0.5, 0.5))
    everywhere = select_tiles(grid, WHOLE, width=2000, height=1500, min_tissue=0.1)
    inside = select_tiles(grid, WHOLE, width=2000, height=1500, min_tissue=0.1, region=(300, 256, 300, 256))
    assert inside.tolist() == [[256, 256], [512, 256]]
    assert {tuple(tile) for tile in inside.tolist()} <= {tuple(tile) for tile in everywhere.tolist()}


def test_a_region_may_reach_past_the_slide_but_must_touch_it():
    grid = make_grid(inspection(600, 600), STAIN_DENSITY, (0.5, 0.5))
    corner = select_tiles(grid, WHOLE, width=600, height=600, min_tissue=0.1, region=(-50, -50, 100, 100))
    assert corner.tolist() == [[0, 0]]
    with pytest.raises(JobFailed) as failed:
        select_tiles(grid, WHOLE, width=600, height=600, min_tissue=0.1, region=(600, 0, 100, 100))
    assert failed.value.reason is FailReason.PLANNING_FAILED


@settings(deadline=None)
@given(
    width=st.integers(1, 3000),
    height=st.integers(1, 3000),
    mask=st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**16)),
    sides=st.sampled_from([(320, 320), (320, 193), (150, 300)]),
    min_tissue=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)
def test_selection_equals_the_area_sum_done_the_slow_way(width, height, mask, sides, min_tissue):
    rows, columns, seed = mask
    tissue = np.random.default_rng(seed).random((rows, columns)) < 0.3
    grid = make_grid(inspection(width, height), small_card(), (0.5, 0.5))
    across, down = sides
    grid = replace(
        grid,
        side=across,
        stride=across,
        side_y=down,
        stride_y=down,
        columns=-(-width // across),
        rows=-(-height // down),
    )
    expected = []
    for x in range(0, width, grid.stride):
        for y in range(0, height, grid.stride_y):
            right, bottom = min(x + grid.side, width), min(y + grid.side_y, height)
            # Length of each mask pixel's part inside the box, along each axis, in level-0 px.
            across = _overlap(np.arange(columns + 1) * width / columns, x, right)
            down = _overlap(np.arange(rows + 1) * height / rows, y, bottom)
            share = (down @ tissue @ across) / ((right - x) * (bottom - y))
            if share >= min_tissue - 1e-9 and share > 1e-9:
                expected.append([x, y])
    assert select_tiles(grid, tissue, width=width, height=height, min_tissue=min_tissue).tolist() == expected


def _overlap(edges, start, end):
    return np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], start), 0, None)


mpps = st.tuples(st.floats(0.24, 0.5), st.floats(0.24, 0.5))


@settings(deadline=None)
@given(
    width=st.integers(1, 3000),
    height=st.integers(1, 3000),
    mpp=mpps,
    downsample=st.sampled_from([1, 2, 4]),
    fast=st.booleans(),
)
def test_every_pixel_of_the_slide_lies_in_one_box(width, height, mpp, downsample, fast):
    seen = inspection(width, height, downsamples=(1.0, float(downsample)))
    card = replace(STAIN_DENSITY, mpp=0.5 * downsample)
    grid = make_grid(seen, card, mpp, reduces=(lambda level: True) if fast else None)
    tiles = select_tiles(grid, WHOLE, width=width, height=height, min_tissue=0.0)
    covered = np.zeros((grid.rows * grid.side_y, grid.columns * grid.side), np.uint8)
    for x, y in tiles.tolist():
        covered[y : y + grid.side_y, x : x + grid.side] += 1
    assert (covered == 1).all()
    assert covered.shape[0] - grid.side_y < height <= covered.shape[0]
    assert covered.shape[1] - grid.side < width <= covered.shape[1]


@settings(deadline=None)
@given(width=st.integers(1, 4000), height=st.integers(1, 4000), mpp=mpps, fast=st.booleans())
def test_boxes_on_the_level_as_decoded_lie_side_by_side_within_rounding(width, height, mpp, fast):
    seen = inspection(width, height, downsamples=(1.0, 2.0005))
    grid = make_grid(seen, STAIN_DENSITY, mpp, reduces=(lambda level: True) if fast else None)
    for axis, (count, stride, side) in enumerate(
        ((grid.columns, grid.stride, grid.level_side), (grid.rows, grid.stride_y, grid.level_side_y))
    ):
        origins = np.zeros((count, 2), np.int32)
        origins[:, axis] = np.arange(count) * stride
        gaps = np.diff(compute_level_boxes(grid, origins)[:, axis]) - side
        assert (np.abs(gaps) <= 1).all()


@settings(deadline=None)
@given(
    x=st.integers(0, 200_000),
    y=st.integers(0, 200_000),
    mpp=mpps,
    downsample=st.floats(1, 40),
    tile_px=st.integers(40, 600),
    fast=st.booleans(),
)
def test_a_box_with_fractions_lies_within_what_is_read_of_it(x, y, mpp, downsample, tile_px, fast):
    seen = inspection(50_000, 50_000, downsamples=(1.0, downsample))
    card = replace(STAIN_DENSITY, mpp=0.5 * downsample, tile_px=tile_px, boxes=Boxes.RESAMPLED)
    grid = make_grid(seen, card, mpp, reduces=(lambda level: True) if fast else None)
    tiles = np.array([[x, y], [x + grid.side, y + grid.side_y]], np.int32)
    origins, boxes, inside = (
        compute_level_boxes(grid, tiles),
        compute_exact_boxes(grid, tiles),
        compute_read_boxes(grid, tiles),
    )
    np.testing.assert_array_equal(origins + inside[:, 2:], boxes[:, 2:])
    assert ((inside[:, :2] >= 0) & (inside[:, :2] < 1)).all()
    assert (np.ceil(inside[:, 2:]) <= (grid.level_side, grid.level_side_y)).all()
    np.testing.assert_array_equal(boxes[0, 2:], boxes[1, :2])  # neighbours share an edge
    scale = np.array((grid.level_downsample, grid.level_downsample_y))
    np.testing.assert_allclose(boxes[:, :2], tiles / scale, atol=1 / 2048)
    sides = np.array([(grid.side, grid.side_y)] * 2) / scale
    np.testing.assert_allclose(boxes[:, 2:] - boxes[:, :2], sides, atol=1 / 1024)


def test_boxes_of_a_squeezed_level_follow_each_axis():
    seen = inspection(8000, 6000, mpp=0.25)
    squeezed = LevelInfo(width=4000, height=1500, downsample=3.0, tile_width=240, tile_height=240)
    seen = replace(seen, levels=(*seen.levels, squeezed))
    grid = make_grid(seen, replace(STAIN_DENSITY, mpp=1.0), (0.25, 0.25))
    assert (grid.level, grid.side, grid.level_side, grid.level_side_y) == (1, 1024, 512, 256)
    assert compute_level_boxes(grid, np.array([[1024, 2048]], dtype=np.int32)).tolist() == [[512, 512]]


@given(width=st.integers(1, 4000), height=st.integers(1, 4000), reduction=st.sampled_from([1, 2, 4, 8]))
def test_tiles_of_a_level_decoded_smaller_keep_their_places(width, height, reduction):
    level = LevelInfo(width=width, height=height, downsample=1.0, tile_width=240, tile_height=256)
    small = reduce_level(level, reduction)
    assert -(-small.width // small.tile_width) == -(-width // 240)
    assert -(-small.height // small.tile_height) == -(-height // 256)


@settings(deadline=None)
@given(
    width=st.integers(1, 4000),
    height=st.integers(1, 4000),
    tile=st.sampled_from([64, 240, 256, 1024]),
    mpp=mpps,
    fast=st.booleans(),
)
def test_file_order_names_every_tile_once_and_never_goes_back_by_a_file_tile(width, height, tile, mpp, fast):
    seen = inspection(width, height, tile=tile)
    grid = make_grid(seen, STAIN_DENSITY, mpp, reduces=(lambda level: True) if fast else None)
    tile //= grid.reduction
    tiles = select_tiles(grid, WHOLE, width=width, height=height, min_tissue=0.1)
    order = order_tiles(tiles, grid, seen.levels[grid.level])
    assert sorted(order.tolist()) == list(range(len(tiles)))
    first = [(y // tile, x // tile) for x, y in compute_level_boxes(grid, tiles[order]).tolist()]
    assert first == sorted(first)
