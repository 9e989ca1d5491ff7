from __future__ import annotations

from dataclasses import replace

import pytest

from tests.wsi.plans import inspection
from wsi.errors import RejectReason, SlideRejected
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.scale import choose_level, choose_reduction, compute_box_sides, compute_downsamples, compute_grid_mpp
from wsi.records.slides import LevelInfo


@pytest.mark.parametrize(
    ("mpp", "downsamples", "target", "level"),
    [
        (0.25, (1, 4, 16), 0.5, 0),
        (0.25, (1, 2, 4), 0.5, 1),
        (0.25, (1, 4, 16), 1.0, 1),
        (0.499, (1, 4), 0.5, 0),
        (0.5, (1, 4), 0.499, 0),
        (0.51, (1, 4), 0.5, 0),
        (0.25, (1, 4.0003, 16.004), 1.0, 1),
        (0.2525, (1, 2), 0.5, 1),
        (0.256, (1, 2), 0.5, 0),
    ],
)
def test_the_coarsest_level_within_two_percent_is_read(mpp, downsamples, target, level):
    assert choose_level(inspection(downsamples=downsamples).levels, (mpp, mpp), target) == level


@pytest.mark.parametrize("mpp", [0.5101, 1.0])
def test_a_slide_coarser_than_the_model_is_refused_unless_upsampling_is_allowed(mpp):
    levels = inspection(downsamples=(1, 4)).levels
    with pytest.raises(SlideRejected) as rejected:
        choose_level(levels, (mpp, mpp), 0.5)
    assert rejected.value.reason is RejectReason.SLIDE_TOO_COARSE
    assert choose_level(levels, (mpp, mpp), 0.5, allow_upsampling=True) == 0


@pytest.mark.parametrize(("mpp", "side"), [(0.5, 256), (0.25, 512), (0.265, 483), (0.499, 257), (1.0, 128)])
def test_the_box_follows_microns_exactly_not_a_magnification(mpp, side):
    assert compute_box_sides(STAIN_DENSITY, (mpp, mpp)) == (side, side)


def test_a_slide_without_mpp_has_no_grid():
    with pytest.raises(SlideRejected) as rejected:
        compute_grid_mpp(inspection(mpp=None))
    assert rejected.value.reason is RejectReason.NO_MPP


def test_axes_within_a_percent_are_taken_as_equal_at_their_mean():
    assert compute_grid_mpp(replace(inspection(), mpp_x=0.25, mpp_y=0.2505)) == pytest.approx((0.25025, 0.25025))
    assert compute_grid_mpp(replace(inspection(), mpp_x=0.25, mpp_y=0.253)) == (0.25, 0.253)


@pytest.mark.parametrize("stretched", [2.0, 2.09, 1 / 2.09])
def test_pixels_up_to_twice_as_long_as_wide_are_read_in_boxes_that_are_square_in_microns(stretched):
    mpp = compute_grid_mpp(replace(inspection(), mpp_x=0.25, mpp_y=0.25 * stretched))
    width, height = compute_box_sides(STAIN_DENSITY, mpp)
    assert (width * mpp[0], height * mpp[1]) == pytest.approx((128, 128), abs=0.27)


@pytest.mark.parametrize("stretched", [2.11, 2.54, 10.0, 1 / 2.54])
def test_pixels_that_no_scanner_makes_are_refused(stretched):
    with pytest.raises(SlideRejected, match=r"with the slide \(`mpp`\)") as rejected:
        compute_grid_mpp(replace(inspection(), mpp_x=1.0, mpp_y=stretched))
    assert rejected.value.reason is RejectReason.ABSURD_MPP


def test_the_coarser_axis_decides_the_level_and_whether_the_slide_is_too_coarse():
    levels = inspection(downsamples=(1, 2, 4)).levels
    assert choose_level(levels, (0.25, 0.25), 1.0) == 2
    assert choose_level(levels, (0.25, 0.4), 1.0) == choose_level(levels, (0.4, 0.25), 1.0) == 1
    with pytest.raises(SlideRejected, match=r"has 0\.6 µm"):
        choose_level(levels, (0.5, 0.6), 0.5)


def level(width: int, height: int, downsample: float, tile: int = 240) -> LevelInfo:
    return LevelInfo(width=width, height=height, downsample=downsample, tile_width=tile, tile_height=tile)


def test_a_level_that_is_squeezed_along_one_axis_has_two_downsamples():
    levels = (level(8000, 6000, 1.0), level(4000, 1500, 3.0), level(2000, 1500, 4.0))
    assert compute_downsamples(levels, 1) == (2.0, 4.0)
    assert compute_downsamples(levels, 2) == (4.0, 4.0)
    assert choose_level(levels, (0.5, 0.25), 1.0) == 1


@pytest.mark.parametrize(("width", "height"), [(62, 18), (63, 19), (1, 1)])
def test_a_small_level_whose_sides_were_rounded_is_not_squeezed(width, height):
    levels = (level(1000, 300, 1.0), level(width, height, 16.4))
    assert compute_downsamples(levels, 1) == (16.4, 16.4)


@pytest.mark.parametrize(
    ("mpp", "tile", "sides", "reduction"),
    [
        ((0.25, 0.25), 240, (512.0, 512.0), 2),
        ((0.255, 0.255), 240, (512.0, 512.0), 2),
        ((0.256, 0.256), 240, (512.0, 512.0), 1),
        ((0.125, 0.125), 240, (1024.0, 1024.0), 4),
        ((0.03, 0.03), 256, (4096.0, 4096.0), 8),
        ((0.125, 0.2), 240, (1024.0, 640.0), 2),
        ((0.125, 0.125), 250, (1024.0, 1024.0), 2),
        ((0.125, 0.125), 251, (1024.0, 1024.0), 1),
        ((0.25, 0.25), 240, (513.0, 512.0), 2),
        ((0.25, 0.25), 240, (33.0, 33.0), 1),
        ((0.125, 0.125), 240, (50.0, 50.0), 2),
    ],
    ids=[
        "halved",
        "within two percent",
        "not within two percent",
        "quartered",
        "an eighth",
        "the coarser axis decides",
        "file tiles stay whole",
        "odd file tiles",
        "half a pixel of 256",
        "half a pixel of 16 is too much",
        "the strongest one that fits",
    ],
)
def test_tiles_are_reduced_as_far_as_the_model_the_file_and_the_boxes_allow(mpp, tile, sides, reduction):
    assert choose_reduction(level(9000, 9000, 1.0, tile), mpp, 0.5, sides) == reduction
