"""The viewer's pyramid over the levels of a file."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wsi.records.slides import LevelInfo
from wsi.viewer.deep_zoom import (
    CUT_SIDE,
    MOST_PIXELS,
    MOST_TILES,
    STEP,
    Box,
    build_levels,
    choose_tile_side,
    iterate_file_tiles,
    needs_overview,
    with_overview,
)


def file_level(width, height, downsample, tile=256, tile_height=None):
    return LevelInfo(
        width=max(1, int(width / downsample)),
        height=max(1, int(height / downsample)),
        downsample=float(downsample),
        tile_width=tile,
        tile_height=tile_height or tile,
    )


def offered(width, height, downsamples, tile=256, tile_height=None):
    return build_levels([file_level(width, height, each, tile, tile_height) for each in downsamples])


@st.composite
def files(draw):
    """Levels as files have them: each some times coarser than the one before, cut into any tiles."""
    width, height = draw(st.integers(1, 200_000)), draw(st.integers(1, 200_000))
    factors = draw(st.lists(st.floats(1.05, 17), max_size=5))
    downsamples = [1.0]
    for factor in factors:
        downsamples.append(downsamples[-1] * factor)
    sides = st.integers(4, 4096)
    return [file_level(width, height, each, draw(sides), draw(sides)) for each in downsamples]


def test_levels_that_are_two_apart_are_offered_as_they_are():
    found = offered(65_536, 32_768, [1, 2, 4, 8, 16, 32, 64, 128, 256])
    assert [(level.level, level.reduction) for level in found] == [(n, 1) for n in range(9)]


def test_what_lacks_between_two_levels_is_made_from_the_finer_one():
    found = offered(46_000, 32_914, [1, 4, 16])
    made = [(level.level, level.reduction) for level in found]
    assert made == [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2), (2, 4), (2, 8)]


def test_levels_three_apart_are_near_enough():
    assert [level.reduction for level in offered(9_000, 9_000, [1, 3, 9])] == [1, 1, 1, 2, 4]


def test_a_level_too_near_to_another_is_left_out():
    assert [level.level for level in offered(1_000, 1_000, [1, 1.5, 4])] == [0, 0, 2]


def test_of_a_file_of_one_large_level_the_overview_goes_on():
    found = offered(100_000, 80_000, [1])
    assert [level.reduction for level in found] == [1, 2, 4, 8]
    assert needs_overview(found)
    every = with_overview(found, slide=(100_000, 80_000), overview=(2041, 1633))
    assert [(level.level, level.width) for level in every[4:]] == [(None, 2041), (None, 1020), (None, 510)]


def test_a_file_that_is_not_read_by_ranges_has_its_overview_alone():
    assert needs_overview(())
    every = with_overview((), slide=(100_000, 80_000), overview=(2041, 1633))
    assert [(level.level, level.width, level.height) for level in every] == [
        (None, 2041, 1633),
        (None, 1020, 816),
        (None, 510, 408),
    ]
    assert every[0].downsample == pytest.approx(49, rel=1e-3)


def test_strips_too_wide_to_be_decoded_for_a_tile_are_not_offered():
    assert offered(200_000, 50_000, [1], tile=200_000, tile_height=16) == ()
    assert [level.level for level in offered(200_000, 50_000, [1, 16], tile=1_000_000, tile_height=16)] == []


@pytest.mark.parametrize(
    ("side", "viewers"),
    [
        (10, 260),
        (100, 300),
        (127, 381),
        (128, 128),
        (240, 240),
        (512, 512),
        (1024, 1024),
        (4096, 1024),
        (3000, 1000),
        (2080, 520),
    ],
)
def test_tiles_are_the_files_own_or_equal_parts_or_several_of_them(side, viewers):
    assert choose_tile_side(side) == viewers


def test_tiles_that_can_not_be_cut_into_equal_parts_are_cut_anyhow():
    assert choose_tile_side(2221) == CUT_SIDE  # a prime


@given(files())
def test_each_level_is_about_twice_as_coarse_as_the_one_before(levels):
    found = build_levels(levels)
    every = with_overview(found, slide=(levels[0].width, levels[0].height), overview=(1500, 900))
    for finer, coarser in pairwise(every):
        assert coarser.downsample >= STEP * finer.downsample * 0.999


@given(files(), st.data())
def test_the_tiles_of_a_level_fill_it_without_overlap(levels, data):
    for level in build_levels(levels):
        column = data.draw(st.integers(0, level.columns - 1))
        row = data.draw(st.integers(0, level.rows - 1))
        box = level.find_box(column, row)
        assert box is not None
        assert 0 < box.width <= level.tile_width
        assert 0 < box.height <= level.tile_height
        right, below = level.find_box(column + 1, row), level.find_box(column, row + 1)
        assert box.right == (level.width if right is None else right.left)
        assert box.bottom == (level.height if below is None else below.top)
        assert (right is None) == (column + 1 == level.columns)
        assert (below is None) == (row + 1 == level.rows)
    assert all(
        level.find_box(-1, 0) is None and level.find_box(0, level.rows) is None for level in build_levels(levels)
    )


@settings(deadline=None)  # strips of 4 px are gathered by the hundred
@given(files(), st.data())
def test_a_tile_needs_bounded_many_pixels_of_the_file_and_all_that_lie_under_it(levels, data):
    for level in build_levels(levels):
        info = levels[level.level]
        box = level.find_box(
            data.draw(st.integers(0, level.columns - 1)), data.draw(st.integers(0, level.rows - 1))
        ).scale_up(level.reduction)
        needed = list(iterate_file_tiles(info, box))
        assert len(needed) <= MOST_TILES
        assert len(needed) * info.tile_width * info.tile_height <= MOST_PIXELS
        covered = Box(
            min(tile.box.left for tile in needed),
            min(tile.box.top for tile in needed),
            max(tile.box.right for tile in needed),
            max(tile.box.bottom for tile in needed),
        )
        assert box.intersect(Box(0, 0, info.width, info.height)).intersect(covered) == box.intersect(
            Box(0, 0, info.width, info.height)
        )
        assert len(needed) * info.tile_width * info.tile_height == (
            (covered.right - covered.left) * (covered.bottom - covered.top)
        )
        assert len({tile.index for tile in needed}) == len(needed)


@given(st.integers(128, 1024), st.integers(1024, 100_000))
def test_a_files_own_tiles_are_offered_as_they_are_cut(side, width):
    info = LevelInfo(width=width, height=width, downsample=1.0, tile_width=side, tile_height=side)
    box = build_levels([info])[0].find_box(0, 0)
    (tile,) = iterate_file_tiles(info, box)
    assert tile.box == box


def test_tiles_of_a_few_pixels_are_not_gathered_by_the_thousand():
    assert [level.reduction for level in offered(4_000, 4_000, [1], tile=10)] == [1]
    assert offered(4_000, 4_000, [1], tile=2) == ()
