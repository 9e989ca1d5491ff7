"""The slide is chosen by what it is, never by being first: files in whose pages it lies anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from numpy.typing import NDArray

from tests.slides.ome import write_ome
from tests.slides.pages import (
    BASE,
    HEIGHT,
    MPP,
    PLANES,
    QPI,
    WIDTH,
    Page,
    aperio,
    focal_stack,
    level,
    scan,
    write_pages,
)
from tests.wsi.slide.sources import read_level
from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.slide import SlideReader


def opened(path: Path, choice: Choice | None = None) -> SlideReader:
    return open_slide(open_local_source(path), choice=choice)


def refused(path: Path, choice: Choice | None = None) -> SlideRejected:
    with pytest.raises(SlideRejected) as caught:
        opened(path, choice)
    return caught.value


def assert_reads(reader: SlideReader, levels: Sequence[NDArray[np.uint8]]) -> None:
    assert reader.inspection.reading_path == "native"
    assert [(one.width, one.height) for one in reader.inspection.levels] == [one.shape[1::-1] for one in levels]
    for number, pixels in enumerate(levels):
        np.testing.assert_array_equal(read_level(reader, number), pixels)


PYRAMID = [BASE, BASE[::2, ::2], BASE[::4, ::4]]


@pytest.mark.parametrize(
    "pages",
    [
        [level(BASE, 8, flag=1), level(BASE, 1), level(BASE, 2, flag=1), level(BASE, 4, flag=1)],
        [level(BASE, 8, flag=1, tiled=False), level(BASE, 1), level(BASE, 2, flag=1), level(BASE, 4, flag=1)],
        [level(BASE, 8, tiled=False), level(BASE, 1), level(BASE, 2), level(BASE, 4)],
        [level(BASE, 4), level(BASE, 2), level(BASE, 1)],
        [level(BASE, 2, flag=1), level(BASE, 1), level(BASE, 4, flag=1)],
        [level(BASE, 1), level(BASE, 2), level(BASE, 4)],
        [level(BASE, 1, mpp=None), level(BASE, 2, mpp=None), level(BASE, 4, mpp=None)],
        [level(BASE, 1, subifds=2), level(BASE, 2, flag=1), level(BASE, 4, flag=1)],
        [level(BASE, 1, subifds=2), level(BASE, 2), level(BASE, 4)],
    ],
    ids=[
        "tiled thumbnail first (pyvips#238)",
        "thumbnail in strips first",
        "thumbnail in strips first, no flags",
        "smallest first, no flags",
        "base in the middle",
        "no flags (openslide#328, raw2ometiff#67)",
        "no flags and no scale",
        "SubIFDs without OME-XML (pyvips#222)",
        "SubIFDs without flags",
    ],
)
def test_base_and_levels_are_found_wherever_they_lie(tmp_path: Path, pages: list[Page]):
    reader = opened(write_pages(tmp_path / "a.tif", pages))
    found = [one.pixels for one in pages if one.tiled]
    assert_reads(reader, sorted(found, key=lambda pixels: -pixels.shape[1]))
    assert reader.inspection.mpp_x == (pytest.approx(MPP) if pages[-1].mpp else None)
    assert reader.inspection.warnings == ()


@pytest.mark.parametrize("name", ["label", "Label 600x400", "macro", "Macro image", "thumbnail", "overview 600 x 400"])
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_what_calls_itself_a_label_or_an_overview_is_neither_slide_nor_level(tmp_path: Path, name: str, first: bool):
    beside = Page(pixels=scan(750, 500, seed=1), description=name)
    pages = [level(BASE, 1), level(BASE, 4, flag=1)]
    path = write_pages(tmp_path / "a.tif", [beside, *pages] if first else [*pages, beside])
    assert_reads(opened(path), [BASE, BASE[::4, ::4]])


def test_an_overview_is_told_by_its_scale(tmp_path: Path):
    """An overview of the whole glass in another file's 16 um (tiffslide#21)."""
    overview = Page(pixels=scan(700, 900, seed=1), mpp=16.0)
    reader = opened(write_pages(tmp_path / "a.tif", [overview, level(BASE, 1), level(BASE, 2)]))
    assert_reads(reader, PYRAMID[:2])
    assert reader.inspection.warnings == (
        "The file also holds image 1 (700 x 900 px, 16 um per pixel), which is not read.",
    )


def test_two_scans_in_one_file_are_refused_with_the_list_until_one_is_chosen(tmp_path: Path):
    other = scan(1200, 900, seed=1)
    path = write_pages(
        tmp_path / "a.tif", [level(BASE, 1), level(BASE, 2), level(other, 1, mpp=0.25), level(other, 2, mpp=0.25)]
    )
    found = refused(path)
    assert found.reason is RejectReason.SEVERAL_PICTURES
    assert "image 1 (1,500 x 1,000 px" in found.sentence
    assert "image 2 (1,200 x 900 px" in found.sentence
    assert "(`picture`)" in found.sentence
    assert_reads(opened(path, Choice(picture=1)), PYRAMID[:2])
    assert_reads(opened(path, Choice(picture=2)), [other, other[::2, ::2]])
    assert refused(path, Choice(picture=3)).reason is RejectReason.NO_SUCH_CHOICE


def test_two_scans_of_equal_proportions_keep_their_own_levels(tmp_path: Path):
    other = scan(WIDTH // 2, HEIGHT // 2, seed=1)
    path = write_pages(tmp_path / "a.tif", [level(one, step, mpp=None) for one in (BASE, other) for step in (1, 2, 4)])
    assert_reads(opened(path, Choice(picture=1)), PYRAMID)
    assert_reads(opened(path, Choice(picture=2)), [other, other[::2, ::2], other[::4, ::4]])


def test_pages_of_equal_size_are_several_scans_and_never_levels(tmp_path: Path):
    path = write_pages(tmp_path / "a.tif", [level(BASE, 1), level(scan(seed=1), 1)])
    assert refused(path).reason is RejectReason.SEVERAL_PICTURES


def test_grey_pages_of_equal_size_are_channels_of_fluorescence(tmp_path: Path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as writer:
        for seed in range(3):
            writer.write(scan(seed=seed)[..., 1], photometric="minisblack", tile=(256, 256), metadata=None)
    assert refused(tmp_path / "a.tif").reason is RejectReason.FLUORESCENCE


def test_a_label_alone_is_no_slide(tmp_path: Path):
    found = refused(write_pages(tmp_path / "a.tif", [Page(pixels=scan(400, 300), description="label")]))
    assert found.reason is RejectReason.NOT_A_SLIDE


def test_a_larger_image_in_strips_is_not_passed_over(tmp_path: Path):
    path = write_pages(tmp_path / "a.tif", [level(BASE, 1, tiled=False), level(scan(700, 600, seed=2), 1)])
    assert "without tiles" in refused(path).sentence


def test_an_svs_may_begin_with_a_tiled_thumbnail(tmp_path: Path):
    pages = [aperio(BASE, 8), aperio(BASE, 1), aperio(BASE, 4)]
    reader = opened(write_pages(tmp_path / "a.svs", pages))
    assert_reads(reader, [BASE, BASE[::4, ::4], BASE[::8, ::8]])
    assert (reader.inspection.format, reader.inspection.mpp_x) == ("svs", 0.25)


def test_the_plane_of_an_svs_at_height_0_is_read_with_its_own_levels(tmp_path: Path):
    """tifffile#193: levels of the other planes have the same sizes."""
    reader = opened(focal_stack(tmp_path / "a.svs", [0.9, 0.0, -0.9]))
    assert_reads(reader, [PLANES[0.0], PLANES[0.0][::4, ::4]])
    assert reader.inspection.warnings == ("The file holds 3 planes of focus; the one at height 0 is read.",)


@pytest.mark.parametrize(("number", "height"), [(1, -0.9), (2, 0.0), (3, 0.9)])
def test_a_plane_of_an_svs_is_chosen_by_its_number_from_the_glass(tmp_path: Path, number: int, height: float):
    path = focal_stack(tmp_path / "a.svs", [0.0, 0.9, -0.9])
    assert_reads(opened(path, Choice(focal_plane=number)), [PLANES[height], PLANES[height][::4, ::4]])


def test_a_plane_or_path_that_a_tiff_does_not_hold_is_refused(tmp_path: Path):
    stack = focal_stack(tmp_path / "a.svs", [0.9, -0.9])
    assert refused(stack).reason is RejectReason.Z_STACK
    assert refused(stack, Choice(focal_plane=3)).reason is RejectReason.NO_SUCH_CHOICE
    single = write_pages(tmp_path / "b.tif", [level(BASE, 1)])
    for choice in (Choice(focal_plane=1), Choice(optical_path="1"), Choice(picture=1)):
        assert refused(single, choice).reason is RejectReason.NO_SUCH_CHOICE


def test_a_qptiff_of_brightfield_is_read_without_its_thumbnail_overview_and_label(tmp_path: Path):
    """Their own page order: base, thumbnail, levels, overview, label (PerkinElmer's description of the format)."""
    pages = [
        level(BASE, 1, description=QPI.format("FullResolution")),
        level(BASE, 3, description=QPI.format("Thumbnail"), tiled=False),
        level(BASE, 2, flag=1, description=QPI.format("ReducedResolution")),
        Page(pixels=scan(900, 900, seed=3), description=QPI.format("Overview")),
        Page(pixels=scan(800, 800, seed=4), description=QPI.format("Label")),
    ]
    assert_reads(opened(write_pages(tmp_path / "a.qptiff", pages)), PYRAMID[:2])


def test_an_ome_tiff_that_begins_with_the_macro_is_the_scan_all_the_same(tmp_path: Path):
    """tiffslide#21: a Leica SCN exported with the macro as the first image and a number as its name."""
    macro = scan(256, 512, seed=5)
    path = tmp_path / "a.ome.tif"
    with tifffile.TiffWriter(path, ome=True) as writer:
        how: dict[str, Any] = {"tile": (256, 256), "photometric": "rgb", "compression": "zlib"}
        for name, pixels, mpp, below in (("image_0000004202", macro, 16.4, 0), ("image_0000004203", BASE, 0.5, 2)):
            size = {"PhysicalSizeX": mpp, "PhysicalSizeY": mpp}
            writer.write(pixels, subifds=below, metadata={"axes": "YXS", "Name": name, **size}, **how)
        for step in (2, 4):
            writer.write(np.ascontiguousarray(BASE[::step, ::step]), subfiletype=1, **how)
    reader = opened(path)
    assert_reads(reader, PYRAMID)
    assert reader.inspection.mpp_x == 0.5
    assert "image 1 (256 x 512 px, 16.4 um per pixel), which is not read" in reader.inspection.warnings[-1]
    assert_reads(opened(path, Choice(picture=1)), [macro])


def test_levels_that_an_ome_tiff_lists_as_images_are_levels(tmp_path: Path):
    """Bio-Formats with flattened resolutions lists each level as an image of its own."""
    path = tmp_path / "a.ome.tif"
    with tifffile.TiffWriter(path, ome=True) as writer:
        for step in (1, 2, 4):
            size = {"PhysicalSizeX": 0.5 * step, "PhysicalSizeY": 0.5 * step}
            writer.write(
                np.ascontiguousarray(BASE[::step, ::step]),
                tile=(256, 256),
                photometric="rgb",
                metadata={"axes": "YXS", **size},
            )
    assert_reads(opened(path), PYRAMID)


def test_ome_keeps_its_levels_beside_a_thumbnail_of_the_same_field(tmp_path: Path):
    path = write_ome(tmp_path / "a.ome.tif", PYRAMID, more=[("thumbnail", np.ascontiguousarray(BASE[::8, ::8]))])
    assert_reads(opened(path), PYRAMID)
