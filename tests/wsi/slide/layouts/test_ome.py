from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from openslide import OpenSlide

from tests import slides
from tests.shared_slides import shared_slide
from tests.slides.ome import Layout, ome_pyramid, rewrite_description, write_ome
from tests.wsi.slide.sources import CountingSource, read_level, remote
from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice
from wsi.slide.layouts import ome_xml
from wsi.slide.layouts.registry import read_index
from wsi.slide.mpp import get_valid_mpp
from wsi.slide.native import NativeReader
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.slide import SlideReader


def opened(path: Path) -> SlideReader:
    reader = open_slide(open_local_source(path))
    assert reader.inspection.reading_path == "native", reader.inspection.path_reason
    assert reader.inspection.format == "ome-tiff"
    return reader


def tifffile_levels(path: Path) -> list[NDArray[np.uint8]]:
    """[height, width, 3] of each level of the largest picture."""
    with tifffile.TiffFile(path) as file:
        series = max(file.series, key=lambda one: one.size)
        levels = [np.asarray(level.asarray()) for level in series.levels]
    return [level if level.shape[-1] == 3 else level.transpose(1, 2, 0) for level in levels]


def assert_equal_to_tifffile(path: Path) -> SlideReader:
    reader = opened(path)
    expected = tifffile_levels(path)
    assert [(info.height, info.width) for info in reader.inspection.levels] == [one.shape[:2] for one in expected]
    for level, pixels in enumerate(expected):
        np.testing.assert_array_equal(read_level(reader, level), pixels)
    return reader


def rejected(path: Path) -> SlideRejected:
    with pytest.raises(SlideRejected) as caught:
        open_slide(open_local_source(path))
    return caught.value


@pytest.mark.parametrize("layout", ["interleaved", "planar", "channels"])
@pytest.mark.parametrize("big", [False, True], ids=["classic", "big"])
def test_every_level_equals_tifffile(tmp_path: Path, layout: Layout, big: bool):
    path = write_ome(tmp_path / "a.ome.tif", ome_pyramid(), layout=layout, big=big, byte_order=">" if big else "<")
    reader = assert_equal_to_tifffile(path)
    assert len(reader.inspection.levels) == 3
    assert (reader.inspection.mpp_x, reader.inspection.mpp_y, reader.inspection.mpp_source) == (0.5, 0.5, "ome")


@pytest.mark.parametrize("name", ["libvips-rgb", "libvips-channels"])
def test_every_level_that_libvips_wrote_equals_tifffile(name: str):
    reader = assert_equal_to_tifffile(Path(slides.__file__).parent / "data" / f"{name}.ome.tif")
    assert len(reader.inspection.levels) == 3
    assert get_valid_mpp(reader.inspection) == pytest.approx((0.499, 0.499))
    assert reader.inspection.warnings == ()


def test_jpeg_levels_equal_tifffile_and_the_first_one_openslide(tmp_path: Path):
    path = write_ome(tmp_path / "a.ome.tif", ome_pyramid(), compression="jpeg")
    reader = assert_equal_to_tifffile(path)
    with OpenSlide(path) as slide:
        shown = np.asarray(slide.read_region((0, 0), 0, slide.dimensions).convert("RGB"))
    np.testing.assert_array_equal(read_level(reader, 0), shown)


@pytest.mark.parametrize(
    ("size", "unit"), [(0.5, "µm"), (500.0, "nm"), (0.0005, "mm"), (0.00005, "cm"), (5000.0, "Å"), (0.5, "\u03bcm")]
)
def test_sizes_of_a_pixel_are_converted_to_microns(tmp_path: Path, size: float, unit: str):
    path = write_ome(tmp_path / "a.ome.tif", ome_pyramid(levels=1), size=(size, 2 * size), unit=unit)
    assert get_valid_mpp(opened(path).inspection) == pytest.approx((0.5, 1.0))


@pytest.mark.parametrize(("size", "unit"), [(1.0, "pixel"), (1.0, "reference frame"), (None, "")])
def test_a_size_in_pixels_is_none(tmp_path: Path, size: float | None, unit: str):
    inspection = opened(write_ome(tmp_path / "a.ome.tif", ome_pyramid(levels=1), size=size, unit=unit)).inspection
    with pytest.raises(SlideRejected) as caught:
        get_valid_mpp(inspection)
    assert caught.value.reason is RejectReason.NO_MPP


@pytest.mark.parametrize("layout", ["interleaved", "channels"])
@pytest.mark.parametrize("place", ["", "first "])
@pytest.mark.parametrize("name", ["label image", "macro", "Thumbnail"])
def test_label_macro_and_thumbnail_are_never_levels(tmp_path: Path, layout: Layout, place: str, name: str):
    beside = [(place + name, ome_pyramid(350, 260, levels=1)[0])]  # of the slide's own proportions
    reader = assert_equal_to_tifffile(write_ome(tmp_path / "a.ome.tif", ome_pyramid(), layout=layout, more=beside))
    assert "more pictures" not in " ".join(reader.inspection.warnings)


def test_two_scans_are_refused_with_the_list_and_one_can_be_chosen(tmp_path: Path):
    other = [("second slide", ome_pyramid(300, 200, levels=1)[0])]
    path = write_ome(tmp_path / "a.ome.tif", ome_pyramid(), more=other)
    with pytest.raises(SlideRejected, match=r"2 scans.*image 2 \(300 x 200 px") as caught:
        opened(path)
    assert caught.value.reason is RejectReason.SEVERAL_PICTURES
    reader = open_slide(open_local_source(path), choice=Choice(picture=2))
    assert (reader.inspection.width, reader.inspection.height) == (300, 200)
    np.testing.assert_array_equal(read_level(reader, 0), other[0][1])
    assert "also holds image 1" in reader.inspection.warnings[0]


def test_three_channels_without_names_are_told(tmp_path: Path):
    reader = opened(write_ome(tmp_path / "a.ome.tif", ome_pyramid(), layout="channels"))
    assert "does not name its three channels" in reader.inspection.warnings[0]


@pytest.mark.parametrize("names", [["Red", "Green", "Blue"], ["R", "G", "B"]])
def test_channels_named_red_green_and_blue_need_no_warning(tmp_path: Path, names: list[str]):
    path = write_ome(tmp_path / "a.ome.tif", ome_pyramid(), layout="channels", metadata={"Channel": {"Name": names}})
    assert opened(path).inspection.warnings == ()


@pytest.mark.parametrize(
    "channel",
    [
        {"Name": ["DAPI", "FITC", "Cy3"]},
        {"Name": ["Blue", "Green", "Red"]},
        {"EmissionWavelength": [450.0, 520.0, 600.0]},
        {"Color": [0x00FFFFFF, 0x00FF00FF, 0x0000FFFF]},
    ],
    ids=["names of dyes", "another order", "wavelengths", "other colours"],
)
def test_three_channels_that_are_no_colours_are_fluorescence(tmp_path: Path, channel: dict[str, Any]):
    path = write_ome(tmp_path / "a.ome.tif", ome_pyramid(), layout="channels", metadata={"Channel": channel})
    assert rejected(path).reason is RejectReason.FLUORESCENCE


def test_more_than_three_channels_are_fluorescence(tmp_path: Path):
    pixels = np.zeros((5, 128, 128), np.uint8)
    path = write_ome(tmp_path / "a.ome.tif", [pixels], layout="channels", metadata={"axes": "CYX"})
    error = rejected(path)
    assert error.reason is RejectReason.FLUORESCENCE
    assert error.sentence.startswith("The file holds 5 channels")


@pytest.mark.parametrize(("axes", "what"), [("ZYXS", "2 focal planes"), ("TYXS", "2 points in time")])
def test_planes_and_times_are_a_stack(tmp_path: Path, axes: str, what: str):
    pixels = np.zeros((2, 128, 128, 3), np.uint8)
    error = rejected(write_ome(tmp_path / "a.ome.tif", [pixels], metadata={"axes": axes}))
    assert error.reason is RejectReason.Z_STACK
    assert what in error.sentence


def test_16_bits_are_refused_by_name(tmp_path: Path):
    error = rejected(write_ome(tmp_path / "a.ome.tif", [np.zeros((128, 128, 3), np.uint16)]))
    assert error.reason is RejectReason.BIT_DEPTH
    assert "uint16" in error.sentence


def test_planes_in_other_files_are_missing(tmp_path: Path):
    path = write_ome(tmp_path / "a.ome.tif", ome_pyramid())
    other = "urn:uuid:22222222-2222-2222-2222-222222222222"
    uuid = f'<TiffData IFD="0" PlaneCount="1"><UUID FileName="b.ome.tif">{other}</UUID></TiffData>'
    rewrite_description(path, {'<TiffData IFD="0" PlaneCount="1"/>': uuid})
    with tifffile.TiffFile(path) as file:
        text = str(file.pages.first.description)
    own = text[text.index('UUID="') + 6 :].split('"')[0]
    error = rejected(path)
    assert error.reason is RejectReason.MISSING_FILES
    assert "b.ome" not in error.sentence  # A file's name can hold a patient's.
    opened(rewrite_description(path, {other: own}))


def test_a_description_in_another_file_is_missing(tmp_path: Path):
    path = write_ome(tmp_path / "a.ome.tif", ome_pyramid())
    with tifffile.TiffFile(path) as file:
        text = str(file.pages.first.description)
    inside = text[text.index("<Image") : text.rindex("</OME>")]
    only = '<BinaryOnly MetadataFile="a.companion.ome" UUID="urn:uuid:1"/>'
    error = rejected(rewrite_description(path, {inside: only}))
    assert error.reason is RejectReason.MISSING_FILES
    assert "companion" in error.sentence


def test_a_real_stack_is_refused_with_its_reason():
    error = rejected(shared_slide("odd-tiff/libvips.multi-channel-z-series.ome.tif"))
    assert error.reason is RejectReason.Z_STACK
    assert error.sentence == "The file holds 5 focal planes: export a single plane."


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('IFD="0"', 'IFD="9"', "a page that is not there"),
        ('SizeX="700"', 'SizeX="701"', "another size"),
        ("</Pixels>", "", "damaged"),
        ('SizeZ="1"', 'SizeZ="-1"', "a number that no picture can have"),
        ('SizeX="700"', 'SizeX="many"', "damaged"),
    ],
)
def test_a_description_that_contradicts_the_file_is_refused(tmp_path: Path, before: str, after: str, words: str):
    path = rewrite_description(write_ome(tmp_path / "a.ome.tif", ome_pyramid()), {before: after})
    with pytest.raises(SlideRejected, match=words):
        read_index(CountingSource(path.read_bytes()))


def test_entities_are_refused_before_they_grow():
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    with pytest.raises(SlideRejected, match="document type"):
        ome_xml.parse(f'<!DOCTYPE OME [<!ENTITY e0 "ha">{bomb}]><OME>&e11;</OME>')


def test_depth_and_number_of_elements_cost_no_more_than_their_bytes():
    ome_xml.parse("<OME>" + "<a>" * 500_000 + "</a>" * 500_000 + "</OME>")
    with pytest.raises(SlideRejected, match="more than 1,000 pictures"):
        ome_xml.parse("<OME>" + "<Image/>" * 1_001 + "</OME>")
    with pytest.raises(SlideRejected, match="more than 100,000 planes"):
        ome_xml.parse("<OME><Image><Pixels>" + "<TiffData/>" * 100_001 + "</Pixels></Image></OME>")


TAGS = ["OME", "BinaryOnly", "Image", "Pixels", "Channel", "TiffData", "UUID", "x:Image", "Plane"]
NUMBERS = ["0", "1", "2", "3", "5", "99999999999", "-1", "", "x", "1e400", "nan", "０"]
NAMES = [
    *("SizeX", "SizeY", "SizeZ", "SizeC", "SizeT", "IFD", "PlaneCount", "FirstC", "SamplesPerPixel", "Color"),
    *("PhysicalSizeX", "PhysicalSizeXUnit", "Type", "Name", "UUID"),
]


@st.composite
def descriptions(draw: st.DrawFn) -> str:
    """OME-XML that is mostly well formed and mostly nonsense."""

    def element(depth: int) -> str:
        tag = draw(st.sampled_from(TAGS))
        names = draw(st.lists(st.sampled_from(NAMES), max_size=5, unique=True))
        values = " ".join(f'{name}="{draw(st.sampled_from(NUMBERS))}"' for name in names)
        inside = "".join(element(depth - 1) for _ in range(draw(st.integers(0, 3)))) if depth else "a"
        return f"<{tag} {values}>{inside}</{tag}>"

    return f"<OME>{element(3)}{element(3)}{draw(st.sampled_from(['', '<', '&e;', 'é', chr(0xFFFD)]))}</OME>"


@settings(max_examples=150, deadline=2_000)
@given(text=st.one_of(descriptions(), st.text(max_size=60)))
@example(text="")
def test_any_description_is_understood_or_refused(text: str):
    with suppress(SlideRejected):
        ome_xml.parse(text)


@settings(max_examples=100, deadline=2_000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 2**32), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_damaged_ome_tiff_is_read_or_refused_and_nothing_else(tmp_path: Path, changes: list[tuple[int, int]]):
    path = tmp_path / "small.ome.tif"
    if not path.exists():
        write_ome(path, ome_pyramid(80, 64, levels=2), tile=32, compression="jpeg")
    data = bytearray(path.read_bytes())
    for place, value in changes:
        data[place % 1_500 if place % 2 else place % len(data)] = value  # the first page and its description
    source = CountingSource(bytes(data))
    try:
        reader = NativeReader(remote(source), read_index(source))
    except SlideRejected:
        return
    for level in range(len(reader.inspection.levels)):
        list(reader.read_tiles(level, [0]))


def test_description_of_many_megabytes_is_read(tmp_path: Path):
    """Data sets with 60 MB of OME-XML are known (bioformats PR 3418)."""
    plain = write_ome(tmp_path / "a.ome.tif", ome_pyramid())
    expected = open_slide(open_local_source(plain)).inspection
    long = rewrite_description(plain, {"</OME>": f"<!--{'x' * 6 * 1024**2}--></OME>"})
    found = open_slide(open_local_source(long)).inspection
    assert (found.format, found.levels, found.mpp_x) == ("ome-tiff", expected.levels, expected.mpp_x)
