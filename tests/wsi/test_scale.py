from __future__ import annotations

from dataclasses import replace

import pytest

from tests.wsi.plans import inspection
from wsi.builtin_models import STAIN_DENSITY
from wsi.errors import RejectReason, SlideRejected
from wsi.scale import box_side, choose_level, grid_mpp


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
    assert choose_level(inspection(downsamples=downsamples).levels, mpp, target) == level


@pytest.mark.parametrize("mpp", [0.5101, 1.0])
def test_a_slide_coarser_than_the_model_is_refused_unless_upsampling_is_allowed(mpp):
    levels = inspection(downsamples=(1, 4)).levels
    with pytest.raises(SlideRejected) as rejected:
        choose_level(levels, mpp, 0.5)
    assert rejected.value.reason is RejectReason.SLIDE_TOO_COARSE
    assert choose_level(levels, mpp, 0.5, allow_upsampling=True) == 0


@pytest.mark.parametrize(("mpp", "side"), [(0.5, 256), (0.25, 512), (0.265, 483), (0.499, 257), (1.0, 128)])
def test_the_box_follows_microns_exactly_not_a_magnification(mpp, side):
    assert box_side(STAIN_DENSITY, mpp) == side


def test_a_slide_without_mpp_has_no_grid():
    with pytest.raises(SlideRejected) as rejected:
        grid_mpp(inspection(mpp=None))
    assert rejected.value.reason is RejectReason.NO_MPP


def test_pixels_that_are_not_square_are_refused_above_a_percent():
    assert grid_mpp(replace(inspection(), mpp_x=0.25, mpp_y=0.2505)) == pytest.approx(0.25025)
    with pytest.raises(SlideRejected) as rejected:
        grid_mpp(replace(inspection(), mpp_x=0.25, mpp_y=0.5))
    assert rejected.value.reason is RejectReason.ABSURD_MPP
