from __future__ import annotations

import math
from dataclasses import replace

import pytest
import tifffile

from tests.slides import write_svs
from wsi.errors import RejectReason, SlideRejected
from wsi.inspection.examination import examine
from wsi.records.slides import Inspection
from wsi.slide.mpp import StatedMpp, convert_resolution, get_valid_mpp, override_mpp, parse_openslide_mpp, resolve
from wsi.slide.opening import open_local_source, open_slide


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
    ("density", "unit", "expected"),
    [
        (20_000, 3, 0.5),
        (50_800, 2, 0.5),
        (72, 2, None),
        (96, 2, None),
        (72 / 2.54, 3, None),
        (28.35, 3, None),
        (37.8, 3, None),
        (2_000, 4, 0.5),
        (2, 5, 0.5),
        (1, 1, None),
        (20_000, 6, None),
        (0, 3, None),
        (None, 3, None),
    ],
)
def test_mpp_of_resolution_tags(density: float | None, unit: int, expected: float | None):
    found = convert_resolution(density, unit)
    assert found == (None if expected is None else pytest.approx(expected))


def test_a_screen_resolution_that_openslide_passes_on_counts_as_missing():
    assert parse_openslide_mpp("352.77777777777777") is None
    assert parse_openslide_mpp("0.499") == 0.499
    assert parse_openslide_mpp(None) is None
    assert parse_openslide_mpp("unknown") is None


@pytest.mark.parametrize("value", ["0", "-0.5", "nan", "inf"])
def test_openslide_scale_that_is_no_positive_number_counts_as_missing(value: str):  # MIRAX writes 0
    assert parse_openslide_mpp(value) is None


def test_no_resolution_says_how_to_give_one():
    with pytest.raises(SlideRejected) as caught:
        get_valid_mpp(inspection(None, None))
    assert caught.value.reason is RejectReason.NO_MPP
    assert "with the slide (`mpp`)" in caught.value.sentence


@pytest.mark.parametrize("mpp", [0.0, -0.5, 0.04, 21.0, 25_400.0, math.inf, math.nan])
def test_an_absurd_resolution_is_refused(mpp: float):
    with pytest.raises(SlideRejected) as caught:
        get_valid_mpp(inspection(mpp))
    assert caught.value.reason is RejectReason.ABSURD_MPP
    assert "The file claims" in caught.value.sentence


def test_an_absurd_resolution_that_was_given_is_not_blamed_on_the_file():
    with pytest.raises(SlideRejected, match="The resolution given is 500"):
        get_valid_mpp(inspection(500.0, "override"))


@pytest.mark.parametrize("mpp", [0.05, 0.25, 20.0])
def test_a_plausible_resolution_passes(mpp: float):
    assert get_valid_mpp(inspection(mpp)) == (mpp, mpp)


def both(first: float, second: float | tuple[float, float]):
    x, y = second if isinstance(second, tuple) else (second, second)
    return resolve((StatedMpp("aperio", first, first), StatedMpp("tiff-resolution", x, y)))


def test_the_vendors_own_field_is_taken_and_a_place_that_says_half_of_it_is_passed_over():
    found = resolve(
        (StatedMpp("ome", None, 0.5), StatedMpp("aperio", 0.25, 0.26), StatedMpp("tiff-resolution", 0.25, 0.26))
    )
    assert (found.x, found.y, found.source, found.conflict, found.warnings) == (0.25, 0.26, "aperio", None, ())
    assert resolve((StatedMpp("aperio", None, None),)).source is None
    assert resolve(()).x is None


@pytest.mark.parametrize("factor", [2.54, 2.60, 2.48, 10.0, 9.75, 10.25, 1 / 2.54, 1 / 2.60, 0.1, 1 / 9.75])
def test_sources_that_differ_by_the_factor_of_a_unit_are_a_conflict_that_names_both(factor: float):
    found = both(0.5, 0.5 * factor)
    assert found.conflict is not None
    for words in ("0.5 (aperio)", f"{0.5 * factor:.4g} (tiff-resolution)", "with the slide (`mpp`)"):
        assert words in found.conflict
    assert not found.warnings


def test_a_conflict_on_one_axis_is_one():
    assert both(0.5, (0.5, 1.27)).conflict is not None


@pytest.mark.parametrize("factor", [1.06, 1 / 1.06, 2.0, 2.44, 2.64, 4.0, 9.6, 10.4, 25.4])
def test_other_differences_are_told_and_the_vendors_value_is_taken(factor: float):
    found = both(0.5, 0.5 * factor)
    assert (found.x, found.source, found.conflict) == (0.5, "aperio", None)
    (warning,) = found.warnings
    assert "0.5 (aperio)" in warning


@pytest.mark.parametrize("other", [0.0, 0.04, 21.0, 84.67, 25_400.0, math.inf, math.nan, -0.5])
def test_what_no_microscope_has_says_nothing_about_the_scan(other: float):
    found = both(0.5, other)
    assert (found.x, found.conflict, found.warnings) == (0.5, None, ())


@pytest.mark.parametrize("factor", [1.0, 1.049, 1 / 1.049])
def test_sources_within_five_percent_agree(factor: float):
    assert not both(0.5, 0.5 * factor).warnings


def test_an_override_silences_a_conflict_and_is_authoritative():
    seen = replace(inspection(0.25), mpp_conflict="both")
    with pytest.raises(SlideRejected, match="both") as caught:
        get_valid_mpp(seen)
    assert caught.value.reason is RejectReason.MPP_CONFLICT
    assert get_valid_mpp(override_mpp(seen, 0.4)) == (0.4, 0.4)
    assert override_mpp(seen, None) is seen


def test_a_slide_whose_tags_contradict_its_description_is_refused_when_examined_and_not_when_opened(tmp_path):
    path = write_svs(tmp_path / "a.svs", width=500, height=400, mpp=0.5, associated=False)
    with tifffile.TiffFile(path, mode="r+") as tiff:  # 0.5 um/px, but inches where centimetres were meant
        tags = tiff.pages.first.tags
        tags["XResolution"].overwrite((20_000, 1))
        tags["YResolution"].overwrite((20_000, 1))
        tags["ResolutionUnit"].overwrite(2)
    reader = open_slide(open_local_source(path))
    assert reader.inspection.mpp_x == 0.5
    with pytest.raises(SlideRejected) as caught:
        examine(reader)
    assert caught.value.reason is RejectReason.MPP_CONFLICT
    stated = open_slide(open_local_source(path), mpp=0.5)
    assert examine(stated).inspection.mpp_source == "override"
    shipped = open_slide(open_local_source(path), index=reader.serialize_index())
    with pytest.raises(SlideRejected, match=r"0\.5 \(aperio\) and 1\.27 \(tiff-resolution\)"):
        examine(shipped)
