from __future__ import annotations

import math

import pytest

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Inspection
from wsi.slide.mpp import aperio_mpp, checked_mpp, openslide_mpp, resolution_mpp


def inspection(mpp: float | None, source: str | None = "aperio") -> Inspection:
    return Inspection(
        format="svs",
        reading_path="native",
        vendor=None,
        width=1,
        height=1,
        levels=(),
        mpp_x=mpp,
        mpp_y=mpp,
        mpp_source=source,
    )


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("Aperio Image Library v1|AppMag = 20|MPP = 0.4990|Left = 2", 0.499),
        ("Aperio Image Library v1|MPP=0.25", 0.25),
        ("Aperio Image Library v1|AppMag = 20", None),
        ("Aperio Image Library v1|OriginalMPP = 0.3|AppMag = 20", None),
        ("Aperio Image Library v1|MPP = |AppMag = 20", None),
        ("Aperio Image Library v1|MPP = ..|AppMag = 20", None),
    ],
)
def test_mpp_of_an_aperio_description(description: str, expected: float | None):
    assert aperio_mpp(description) == expected


@pytest.mark.parametrize(
    ("density", "unit", "expected"),
    [
        (20_000, 3, 0.5),
        (50_800, 2, 0.5),
        (72, 2, None),
        (96, 2, None),
        (72 / 2.54, 3, None),
        (28.35, 3, None),
        (37.8, 3, None),
        (1, 1, None),
        (0, 3, None),
        (None, 3, None),
    ],
)
def test_mpp_of_resolution_tags(density: float | None, unit: int, expected: float | None):
    found = resolution_mpp(density, unit)
    assert found == (None if expected is None else pytest.approx(expected))


def test_a_screen_resolution_that_openslide_passes_on_counts_as_missing():
    assert openslide_mpp("352.77777777777777") is None
    assert openslide_mpp("0.499") == 0.499
    assert openslide_mpp(None) is None
    assert openslide_mpp("unknown") is None


def test_no_resolution_says_how_to_give_one():
    with pytest.raises(SlideRejected) as caught:
        checked_mpp(inspection(None, None))
    assert caught.value.reason is RejectReason.NO_MPP
    assert "`--mpp` on the command line" in caught.value.sentence
    assert "`mpp` in the upload" in caught.value.sentence


@pytest.mark.parametrize("mpp", [0.0, -0.5, 0.04, 21.0, 25_400.0, math.inf, math.nan])
def test_an_absurd_resolution_is_refused(mpp: float):
    with pytest.raises(SlideRejected) as caught:
        checked_mpp(inspection(mpp))
    assert caught.value.reason is RejectReason.ABSURD_MPP
    assert "The file claims" in caught.value.sentence


def test_an_absurd_resolution_that_was_given_is_not_blamed_on_the_file():
    with pytest.raises(SlideRejected, match="The resolution given is 500"):
        checked_mpp(inspection(500.0, "override"))


@pytest.mark.parametrize("mpp", [0.05, 0.25, 20.0])
def test_a_plausible_resolution_passes(mpp: float):
    assert checked_mpp(inspection(mpp)) == (mpp, mpp)
