from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from openslide import OpenSlide

from tests.shared_slides import shared_slide
from tests.slides import damage, write_pyramid_tiff, write_svs
from tests.wsi.slide.sources import CountingSource, oracle_level, read_level, remote
from wsi.errors import TileUnreadable
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.slide import SlideReader

REAL = [
    "real/aperio-jpeg-20x.CMU-1-Small-Region.svs",
    "real/generic-pyramid-bigtiff-jpeg.CMU-0-small.tiff",
    "derived/cmu-small-region.pyramid-jpeg-ycbcr.tif",
    "odd-tiff/image-tiff.tiled-jpeg-rgb-u8.tif",
    "odd-tiff/pillow.tiff_tiled_ycbcr_jpeg_2x2_sampling.tif",
]


def assert_equal_to_openslide(path: Path) -> None:
    reader = open_slide(open_local_source(path))
    assert reader.inspection.reading_path == "native"
    with OpenSlide(path) as slide:
        assert [(info.width, info.height) for info in reader.inspection.levels] == list(slide.level_dimensions)
        assert [info.downsample for info in reader.inspection.levels] == pytest.approx(slide.level_downsamples)
    for level in range(len(reader.inspection.levels)):
        np.testing.assert_array_equal(read_level(reader, level), oracle_level(path, level))


@pytest.mark.parametrize("name", REAL)
def test_every_level_of_a_real_slide_equals_openslide(name: str):
    assert_equal_to_openslide(shared_slide(name))


@pytest.mark.parametrize("rgb", [True, False], ids=["rgb-444-unmarked", "ycbcr-420"])
@pytest.mark.parametrize("big", [True, False], ids=["big", "classic"])
def test_every_level_of_a_written_svs_equals_openslide(tmp_path: Path, rgb: bool, big: bool):
    path = write_svs(tmp_path / "a.svs", width=1300, height=900, levels=(1, 4), rgb=rgb, big=big)
    assert_equal_to_openslide(path)


@pytest.mark.parametrize("rgb", [True, False])
def test_every_level_of_a_written_pyramid_equals_openslide(tmp_path: Path, rgb: bool):
    assert_equal_to_openslide(write_pyramid_tiff(tmp_path / "a.tif", width=1300, height=900, rgb=rgb))


def test_thumbnail_label_and_macro_are_not_levels(tmp_path: Path):
    reader = open_slide(open_local_source(write_svs(tmp_path / "a.svs", width=2400, height=1600, levels=(1, 4))))
    assert [(info.width, info.height) for info in reader.inspection.levels] == [(2400, 1600), (600, 400)]


@pytest.mark.parametrize("big", [True, False])
def test_byte_order_changes_nothing(tmp_path: Path, big: bool):
    arguments: dict[str, Any] = {"width": 700, "height": 500, "levels": (1, 2), "big": big}
    readers: list[SlideReader] = []
    for order in ("<", ">"):
        path = write_svs(tmp_path / f"{ord(order)}.svs", byte_order=order, **arguments)
        readers.append(open_slide(open_local_source(path)))
    little, other = readers
    assert little.inspection == other.inspection
    for level in (0, 1):
        np.testing.assert_array_equal(read_level(little, level), read_level(other, level))


def test_only_the_two_damaged_tiles_are_unreadable():
    whole = open_slide(open_local_source(shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs")))
    hurt = open_slide(open_local_source(shared_slide("derived/cmu-small-region.two-tiles-damaged.svs")))
    unreadable: set[int] = set()
    for good, bad in zip(whole.read_tiles(0, range(130)), hurt.read_tiles(0, range(130)), strict=True):
        assert good.index == bad.index
        try:
            np.testing.assert_array_equal(hurt.decode(bad), whole.decode(good))
        except TileUnreadable:
            unreadable.add(bad.index)
    assert unreadable == {65, 66}


def test_a_slide_opens_in_few_requests_and_reads_neighbouring_tiles_in_one(tmp_path: Path):
    data = write_svs(tmp_path / "a.svs", width=2400, height=1600, levels=(1, 4)).read_bytes()
    source = CountingSource(data)
    reader = open_slide(remote(source))
    assert len(source.asked) <= 8
    source.asked.clear()
    assert len(list(reader.read_tiles(0, range(5, 15)))) == 10
    assert len(source.asked) == 1


def entry_offset(path: Path, tag: int, page: int = 0) -> int:
    """Where the tag's values lie in the file."""
    with tifffile.TiffFile(path) as file:
        return file.pages[page].tags[tag].valueoffset


def first_tile_says(tmp_path: Path, *, offset: int | None = None, count: int | None = None) -> tuple[str, SlideReader]:
    path = write_svs(tmp_path / "a.svs", width=700, height=500)
    at_offset, at_count = entry_offset(path, 324), entry_offset(path, 325)
    with tifffile.TiffFile(path) as file:
        count_size = 2 if file.pages[0].tags[325].dtype == 3 else 4

    def change(data: bytearray) -> None:
        if offset is not None:
            data[at_offset : at_offset + 4] = offset.to_bytes(4, "little")
        if count is not None:
            data[at_count : at_count + count_size] = count.to_bytes(count_size, "little")

    reader = open_slide(open_local_source(damage(path, change)))
    tile = next(tile for tile in reader.read_tiles(0, range(9)) if tile.index == 0)
    with pytest.raises(TileUnreadable) as caught:
        reader.decode(tile)
    return caught.value.sentence, reader


def test_a_tile_with_zero_bytes_is_missing_not_white(tmp_path: Path):
    said, reader = first_tile_says(tmp_path, count=0)
    assert said == "missing in the file"
    assert sorted(tile.index for tile in reader.read_tiles(0, range(9))) == list(range(9))


def test_a_tile_past_the_end_of_the_file_is_unreadable_and_the_others_are_not(tmp_path: Path):
    said, reader = first_tile_says(tmp_path, offset=2**32 - 10)
    assert said == "its bytes lie past the end of the file"
    others = list(reader.read_tiles(0, range(1, 9)))
    assert all(reader.decode(tile).shape == (240, 240, 3) for tile in others)


def test_a_tile_that_claims_more_bytes_than_pixels_can_need_is_never_asked_for(tmp_path: Path):
    path = write_svs(tmp_path / "a.svs", width=3000, height=3000, quality=95)
    at = entry_offset(path, 325)
    with tifffile.TiffFile(path) as file:
        assert file.pages[0].tags[325].dtype == 4 or pytest.skip("counts are short here")
    data = bytearray(path.read_bytes())
    data[at : at + 4] = (1_500_000).to_bytes(4, "little")
    source = CountingSource(bytes(data))
    reader = open_slide(remote(source))
    source.asked.clear()
    (tile,) = reader.read_tiles(0, [0])
    assert source.asked == []
    with pytest.raises(TileUnreadable, match="more than its pixels can need"):
        reader.decode(tile)
