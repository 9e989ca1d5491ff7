from __future__ import annotations

import functools
import io
import struct
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import tifffile
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from openslide import OpenSlide
from PIL import Image

from tests.slides import damage, he_tissue
from tests.slides.ndpi import FOUR_GIB, NdpiLevel, ndpi_levels, sliced_jpeg, write_ndpi
from tests.wsi.slide.sources import CountingSource, read_level, remote
from wsi.errors import RejectReason, SlideRejected, TileUnreadable
from wsi.records.slides import Choice
from wsi.slide.index import SlideIndex
from wsi.slide.layouts.registry import read_index
from wsi.slide.native import NativeReader
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.ranges import FileSource
from wsi.slide.slide import SlideReader


def opened(path: Path) -> SlideReader:
    reader = open_slide(open_local_source(path))
    assert reader.inspection.reading_path == "native", reader.inspection.path_reason
    return reader


def openslide_picture(path: Path, width: int, height: int) -> NDArray[np.uint8]:
    """OpenSlide shows halves of its own between an NDPI's levels, so a level is found by its size."""
    with OpenSlide(path) as slide:
        assert slide.properties["openslide.vendor"] == "hamamatsu"
        level = slide.level_dimensions.index((width, height))
        return np.asarray(slide.read_region((0, 0), level, (width, height)).convert("RGB"))


def assert_equal_to_openslide(path: Path) -> SlideReader:
    reader = opened(path)
    for level, info in enumerate(reader.inspection.levels):
        np.testing.assert_array_equal(read_level(reader, level), openslide_picture(path, info.width, info.height))
    return reader


def unreadable(reader: SlideReader, level: int = 0) -> dict[int, str]:
    found: dict[int, str] = {}
    info = reader.inspection.levels[level]
    tiles = -(-info.width // info.tile_width) * -(-info.height // info.tile_height)
    for tile in reader.read_tiles(level, range(tiles)):
        try:
            reader.decode(tile)
        except TileUnreadable as error:
            found[tile.index] = error.sentence
    return found


def test_every_level_equals_openslide_and_the_macro_is_none(tmp_path: Path):
    reader = assert_equal_to_openslide(write_ndpi(tmp_path / "a.ndpi", ndpi_levels(), mpp=0.23))
    inspection = reader.inspection
    assert [(info.width, info.height) for info in inspection.levels] == [(2048, 1024), (512, 256), (128, 64)]
    assert [(info.tile_width, info.tile_height) for info in inspection.levels] == [(512, 256), (128, 256), (128, 64)]
    assert (inspection.format, inspection.vendor, inspection.mpp_source) == ("ndpi", "hamamatsu", "hamamatsu")
    assert (inspection.mpp_x, inspection.mpp_y) == pytest.approx((0.23, 0.23), rel=1e-6)
    assert inspection.warnings == ()


def test_offsets_over_4_gib_in_a_sparse_file(tmp_path: Path):
    path = write_ndpi(tmp_path / "a.ndpi", ndpi_levels(1024, 512), first_byte=FOUR_GIB + 1_000)
    assert path.stat().st_size > FOUR_GIB > 512 * path.stat().st_blocks
    assert_equal_to_openslide(path)


def test_starts_over_4_gib_need_their_upper_halves(tmp_path: Path):
    level = NdpiLevel(pixels=he_tissue(np.random.default_rng(1), 512, 512), lens=40, slice_width=256)
    plain = opened(write_ndpi(tmp_path / "plain.ndpi", [level]))
    wide = opened(write_ndpi(tmp_path / "wide.ndpi", [replace(level, gap_before_second=FOUR_GIB)]))
    assert "more than its pixels can need" in unreadable(wide)[0]
    for one, other in zip(plain.read_tiles(0, [1, 2, 3]), wide.read_tiles(0, [1, 2, 3]), strict=True):
        assert one.index == other.index
        np.testing.assert_array_equal(plain.decode(one), wide.decode(other))


@pytest.mark.parametrize("claimed", [(70_000, 64), (0, 64)], ids=["cut to 16 bits", "0"])
def test_a_level_wider_than_a_jpeg_can_say_equals_openslide_and_tifffile(tmp_path: Path, claimed: tuple[int, int]):
    pixels = np.tile(he_tissue(np.random.default_rng(2), 64, 2_000), (1, 35, 1))
    level = NdpiLevel(pixels=pixels, lens=40, slice_width=2_000, claimed=claimed)
    reader = assert_equal_to_openslide(write_ndpi(tmp_path / "a.ndpi", [level]))
    assert reader.inspection.width == 70_000
    with tifffile.TiffFile(tmp_path / "a.ndpi") as file:
        np.testing.assert_array_equal(read_level(reader, 0), file.pages.first.asarray())


def test_a_last_row_of_blocks_that_reaches_below_the_level_is_cut(tmp_path: Path):
    level = NdpiLevel(pixels=he_tissue(np.random.default_rng(3), 300, 512), lens=40, slice_width=512)
    whole = np.asarray(Image.open(io.BytesIO(sliced_jpeg(level)[0])).convert("RGB"))
    np.testing.assert_array_equal(read_level(opened(write_ndpi(tmp_path / "a.ndpi", [level])), 0), whole)


def test_4_2_0_differs_from_the_whole_jpeg_at_most_beside_the_edges_of_tiles(tmp_path: Path):
    pixels = he_tissue(np.random.default_rng(4), 512, 512)
    level = NdpiLevel(pixels=pixels, lens=40, slice_width=256, subsampling="4:2:0")
    whole = np.asarray(Image.open(io.BytesIO(sliced_jpeg(level)[0])).convert("RGB"))
    apart = np.argwhere((read_level(opened(write_ndpi(tmp_path / "a.ndpi", [level])), 0) != whole).any(axis=2))
    assert np.isin(apart % 256, (0, 255)).any(axis=1).all()


def test_grey_of_16_bits_is_refused_by_name(tmp_path: Path):
    levels = [replace(level, capture_mode=7) for level in ndpi_levels(1024, 512)]
    with pytest.raises(SlideRejected) as caught:
        open_slide(open_local_source(write_ndpi(tmp_path / "a.ndpi", levels)))
    assert caught.value.reason is RejectReason.BIT_DEPTH


def test_a_start_that_is_off_by_7_costs_the_tiles_on_both_sides_of_it(tmp_path: Path):
    levels = ndpi_levels()
    expected = read_level(opened(write_ndpi(tmp_path / "good.ndpi", levels)), 0)
    path = write_ndpi(tmp_path / "bad.ndpi", [replace(levels[0], starts="one off by 7"), *levels[1:]])
    reader = opened(path)
    lost = unreadable(reader)
    assert lost == dict.fromkeys((7, 8), "the list of restart markers does not point at them")
    for tile in reader.read_tiles(0, [tile for tile in range(16) if tile not in lost]):
        row, column = divmod(tile.index, 4)
        box = expected[row * 256 : row * 256 + 256, column * 512 : column * 512 + 512]
        np.testing.assert_array_equal(reader.decode(tile), box)


def test_a_file_without_a_list_of_starts_is_read_by_openslide(tmp_path: Path):
    levels = ndpi_levels(1024, 512)
    path = write_ndpi(tmp_path / "a.ndpi", [replace(levels[0], starts="none"), *levels[1:]])
    reader = open_slide(open_local_source(path))
    assert reader.inspection.reading_path == "scratch"
    assert reader.inspection.path_reason == "The file does not list where the slices of its levels start."
    np.testing.assert_array_equal(read_level(reader, 0), openslide_picture(path, 1024, 512))


def test_a_list_with_another_count_than_the_level_needs_is_not_believed(tmp_path: Path):
    levels = [replace(level, starts="one missing") for level in ndpi_levels(1024, 512)]
    with pytest.raises(SlideRejected) as caught:
        read_index(FileSource(write_ndpi(tmp_path / "a.ndpi", levels)))
    assert caught.value.reason is RejectReason.UNSUPPORTED_FORMAT


def test_the_focal_plane_at_height_0_is_read_and_the_others_are_told(tmp_path: Path):
    levels = ndpi_levels(1024, 512)
    other = [replace(level, pixels=255 - level.pixels, focus=4_000) for level in levels if level.lens > 0]
    reader = assert_equal_to_openslide(write_ndpi(tmp_path / "a.ndpi", [*levels[:3], *other, *levels[3:]]))
    assert reader.inspection.warnings == ("The file holds 2 planes of focus; the one at height 0 is read.",)


def test_planes_without_one_at_height_0_are_a_stack_to_choose_from(tmp_path: Path):
    plain = [level for level in ndpi_levels(1024, 512) if level.lens > 0]
    low = [replace(level, focus=-4_000) for level in plain]
    high = [replace(level, pixels=255 - level.pixels, focus=4_000) for level in plain]
    path = write_ndpi(tmp_path / "a.ndpi", [*high, *low])
    with pytest.raises(SlideRejected, match="choose one of planes 1 to 2, from the glass upwards") as caught:
        open_slide(open_local_source(path))
    assert caught.value.reason is RejectReason.Z_STACK
    for plane, levels in ((1, low), (2, high)):
        alone = open_slide(open_local_source(write_ndpi(tmp_path / "b.ndpi", levels)))
        chosen = open_slide(open_local_source(path), choice=Choice(focal_plane=plane))
        np.testing.assert_array_equal(read_level(chosen, 0), read_level(alone, 0))


def test_a_single_plane_is_read_whatever_its_height(tmp_path: Path):
    levels = [replace(level, focus=4_000) for level in ndpi_levels(1024, 512)]
    assert len(open_slide(open_local_source(write_ndpi(tmp_path / "a.ndpi", levels))).inspection.levels) > 1


def test_a_jpeg_of_another_size_than_its_directory_is_not_believed(tmp_path: Path):
    levels = ndpi_levels(1024, 512)
    path = write_ndpi(tmp_path / "a.ndpi", [replace(levels[0], claimed=(1024, 30_000)), *levels[1:]])
    with pytest.raises(SlideRejected, match="another size"):
        read_index(FileSource(path))


@pytest.mark.parametrize(("width", "height"), [(128, 64), (128, 63), (127, 65), (126, 63)])
def test_small_level_whose_jpeg_is_a_pixel_off_has_the_size_of_its_jpeg(tmp_path: Path, width: int, height: int):
    """OpenSlide PR 729: scanners round the sizes of a small level's directory and JPEG differently."""
    levels = ndpi_levels()
    assert levels[2].pixels.shape == (64, 128, 3)
    path = write_ndpi(tmp_path / "a.ndpi", levels)
    directory_says(path, 2, width, height)
    reader = opened(path)
    if (width, height) == (126, 63):  # more than rounding
        assert len(reader.inspection.levels) == 2
        (warning,) = reader.inspection.warnings
        assert warning.startswith("The level of 126 x 63 px is left out: A level of the file has another size")
    else:
        assert [(info.width, info.height) for info in reader.inspection.levels][2] == (128, 64)
        assert reader.inspection.warnings == ()
        smallest = np.asarray(Image.open(io.BytesIO(sliced_jpeg(levels[2])[0])).convert("RGB"))
        np.testing.assert_array_equal(read_level(reader, 2), smallest)
    np.testing.assert_array_equal(read_level(reader, 0), read_level(opened(write_ndpi(path, levels)), 0))


def directory_says(path: Path, page: int, width: int, height: int) -> None:
    with tifffile.TiffFile(path) as file:
        places = [file.pages[page].tags[tag].offset + 8 for tag in (256, 257)]
    data = bytearray(path.read_bytes())
    for place, side in zip(places, (width, height), strict=True):
        struct.pack_into("<I", data, place, side)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"starts": "none"}, "does not list where the slices of its levels start"),
        ({"starts": "one missing"}, "does not list where the slices of its levels start"),
        ({"claimed": (511, 256)}, "another size than its JPEG"),
    ],
)
def test_smaller_level_that_cannot_be_read_is_left_out_alone(tmp_path: Path, changes: dict[str, Any], said: str):
    levels = ndpi_levels()
    reader = opened(write_ndpi(tmp_path / "a.ndpi", [levels[0], replace(levels[1], **changes), *levels[2:]]))
    assert [(info.width, info.height) for info in reader.inspection.levels] == [(2048, 1024), (128, 64)]
    (warning,) = reader.inspection.warnings
    assert warning.startswith("The level of 512 x 256 px is left out: ")
    assert said in warning
    whole = opened(write_ndpi(tmp_path / "b.ndpi", levels))
    for level, of_whole in ((0, 0), (1, 2)):
        np.testing.assert_array_equal(read_level(reader, level), read_level(whole, of_whole))


def test_levels_in_another_order_are_sorted_by_size(tmp_path: Path):
    levels = ndpi_levels()
    small_first = [levels[2], levels[0], levels[1], *levels[3:]]
    path = write_ndpi(tmp_path / "a.ndpi", small_first, mpp=0.25 * levels[0].lens / levels[2].lens)
    reader = opened(path)
    assert [info.width for info in reader.inspection.levels] == [2048, 512, 128]
    assert reader.inspection.mpp_x == pytest.approx(0.25, rel=1e-4)
    whole = opened(write_ndpi(tmp_path / "b.ndpi", levels))
    np.testing.assert_array_equal(read_level(reader, 0), read_level(whole, 0))


def test_a_cut_file_is_told_before_anything_is_read(tmp_path: Path):
    path = write_ndpi(tmp_path / "a.ndpi", ndpi_levels(1024, 512))
    damage(path, lambda data: data.__delitem__(slice(len(data) // 2, None)))
    with pytest.raises(SlideRejected) as caught:
        open_slide(open_local_source(path))
    assert caught.value.reason is RejectReason.TRUNCATED


def test_a_band_of_full_width_is_one_range(tmp_path: Path):
    path = write_ndpi(tmp_path / "a.ndpi", ndpi_levels())
    source = CountingSource(path.read_bytes())
    index = read_index(source)
    reader = NativeReader(remote(source), index)
    source.asked.clear()
    assert len(list(reader.read_tiles(0, range(4)))) == 4
    assert len(source.asked) == 1
    # The header and the tables of slices that lie between are no part of it.
    wanted = sum(len(piece) for tile in reader.read_tiles(0, range(4)) for piece in tile.pieces)
    assert source.asked[0].size <= wanted


def test_a_reduced_tile_is_the_smaller_picture_of_the_same_place(tmp_path: Path):
    reader = opened(write_ndpi(tmp_path / "a.ndpi", ndpi_levels(1024, 424)))
    for tile in reader.read_tiles(0, range(4)):
        whole, half = reader.decode(tile), reader.decode(tile, 2)
        assert half.shape == (128, 512 // 2, 3)
        mean = whole.reshape(128, 2, 256, 2, 3).mean((1, 3))
        assert np.abs(mean - half).mean() < 1.5


def test_the_index_that_travels_says_the_same(tmp_path: Path):
    path = write_ndpi(tmp_path / "a.ndpi", ndpi_levels(1024, 512))
    index = opened(path).serialize_index()
    assert index is not None
    travelled = SlideIndex.from_bytes(index)
    assert travelled is not None
    source = open_local_source(path)
    np.testing.assert_array_equal(read_level(NativeReader(source, travelled), 0), read_level(open_slide(source), 0))


@functools.cache
def small_ndpi() -> bytes:
    """Three levels: 256 x 64, 64 x 16 and 16 x 4 px; the first has 32 slices."""
    with TemporaryDirectory() as folder:
        return write_ndpi(Path(folder) / "a.ndpi", ndpi_levels(256, 64, slice_width=64)).read_bytes()


def small_starts() -> tuple[int, list[int]]:
    """Where the list of starts of the first level lies, and what it says."""
    level = ndpi_levels(256, 64, slice_width=64)[0]
    starts = sliced_jpeg(level)[1]
    return small_ndpi().index(struct.pack(f"<{len(starts)}I", *starts)), starts


@settings(max_examples=150, deadline=2_000)
@given(changes=st.dictionaries(st.integers(0, 31), st.integers(0, 20_000), min_size=1, max_size=2))
@example(changes={5: 0})
def test_starts_that_are_wrong_never_give_wrong_pixels(changes: dict[int, int]):
    place, starts = small_starts()
    data = bytearray(small_ndpi())
    good = NativeReader(remote(CountingSource(bytes(data))), read_index(CountingSource(bytes(data))))
    # Anything, or a marker of another slice: what a list of another file or of another version would hold.
    wrong = [starts[value % 32] if value % 3 else value for value in changes.values()]
    for number, value in zip(changes, wrong, strict=True):
        struct.pack_into("<I", data, place + 4 * number, value)
    source = CountingSource(bytes(data))
    try:
        reader = NativeReader(remote(source), read_index(source))
    except SlideRejected:
        return
    expected = {tile.index: good.decode(tile) for tile in good.read_tiles(0, range(4))}
    for tile in reader.read_tiles(0, range(4)):
        with suppress(TileUnreadable):
            np.testing.assert_array_equal(reader.decode(tile), expected[tile.index])


@settings(max_examples=150, deadline=2_000)
@given(changes=st.lists(st.tuples(st.integers(0, 2**32), st.integers(0, 255)), min_size=1, max_size=4))
@example(changes=[(8, 1)])
def test_a_damaged_ndpi_is_read_or_refused_and_nothing_else(changes: list[tuple[int, int]]):
    data = bytearray(small_ndpi())
    (first,) = struct.unpack_from("<Q", data, 4)
    places = [*range(4, 12), *range(first - 400, len(data))]  # header, directories and what they point at
    for place, value in changes:
        data[places[place % len(places)]] = value
    source = CountingSource(bytes(data))
    try:
        reader = NativeReader(remote(source), read_index(source))
    except SlideRejected:
        return
    for level, info in enumerate(reader.inspection.levels):
        if info.width * info.height < 10**6:
            unreadable(reader, level)
