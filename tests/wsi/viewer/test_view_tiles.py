"""The JPEG of each tile that a viewer gets, against OpenSlide."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import simplejpeg
import tifffile

from tests.shared_slides import shared_slide
from tests.slides import he_tissue, write_svs
from tests.slides.dicoms import Writing, tissue, write_picture
from tests.slides.ndpi import NdpiLevel, ndpi_levels, write_ndpi
from tests.wsi.slide.sources import CountingSource, oracle_level, read_level, remote
from tests.wsi.viewer.viewers import Pixels, decoded, level_seen, opened, tile
from wsi.errors import TileUnreadable
from wsi.slide.codecs.browser_jpeg import make_browser_jpeg
from wsi.slide.codecs.jpeg import read_segments
from wsi.slide.opening import open_slide
from wsi.slide.reducing import reduce_pixels
from wsi.viewer.deep_zoom import ViewLevel, build_levels
from wsi.viewer.view_tiles import QUALITY

AS_IN_THE_FILE = [
    "real/aperio-jpeg-20x.CMU-1-Small-Region.svs",
    "real/generic-pyramid-bigtiff-jpeg.CMU-0-small.tiff",
    "derived/cmu-small-region.pyramid-jpeg-ycbcr.tif",
    "real/mask-grey-pyramid-jpeg.empaia-mask_test.tif",
    "dicom/camelyon-jpeg-lowpower/multi_frame_jpeg_camelyon.dcm",
]
PACKED_ANEW = [
    "odd-tiff/image-tiff.tiled-jpeg-rgb-u8.tif",  # its tiles are too small for a viewer
    "real/aperio-jp2k33005-frozen-nompp-icc.TCGA-CR-7395-01A-01-TS1.svs",
    "real/mask-pyramid-bigtiff-lzw.slide2vec-test-mask.tif",
    "derived/cmu-small-region.crop512-nompp-lzw.tif",
]
#: Grey values on average, beside the same pixels packed as tiles are: a file's own tiles are not packed again, and
#: JPEG's own smaller pictures are no averages.
TOLERANCE = 3.0
WAVELET_TOLERANCE = 12.0  #: JPEG 2000's smaller pictures keep more contrast, and lie on the corners of the squares


def packed(shown: ViewLevel, expected: Pixels) -> Pixels:
    """A level of the file, averaged, and packed tile by tile."""
    whole = expected[: shown.height * shown.reduction, : shown.width * shown.reduction]
    seen = reduce_pixels(np.ascontiguousarray(whole), shown.reduction).copy()
    for row in range(shown.rows):
        for column in range(shown.columns):
            box = shown.find_box(column, row)
            assert box is not None
            tile = np.ascontiguousarray(seen[box.top : box.bottom, box.left : box.right])
            jpeg = simplejpeg.encode_jpeg(tile, quality=QUALITY, colorspace="RGB", colorsubsampling="444")
            seen[box.top : box.bottom, box.left : box.right] = decoded(jpeg)
    return seen


def apart(one: Pixels, other: Pixels) -> float:
    return float(np.abs(one.astype(int) - other.astype(int)).mean())


@pytest.mark.parametrize("name", AS_IN_THE_FILE)
def test_whole_tiles_of_jpeg_slides_are_the_files_own_and_equal_openslide(name: str):
    path = shared_slide(name)
    reader, levels = opened(path)
    own = 0
    for shown in levels:
        if shown.reduction > 1 or shown.level is None:
            continue
        expected = oracle_level(path, shown.level)
        info = reader.inspection.levels[shown.level]
        for row in range(info.height // info.tile_height):
            for column in range(info.width // info.tile_width):
                box = shown.find_box(column, row)
                if box is None or (box.width, box.height) != (info.tile_width, info.tile_height):
                    continue
                pixels = decoded(tile(reader, shown, column, row).jpeg)
                np.testing.assert_array_equal(pixels, expected[box.top : box.bottom, box.left : box.right])
                own += 1
    assert own > 0


@pytest.mark.parametrize("name", [*AS_IN_THE_FILE, *PACKED_ANEW])
def test_every_level_is_what_openslide_sees_or_its_averages(name: str):
    path = shared_slide(name)
    reader, levels = opened(path)
    for shown in levels:
        assert shown.level is not None
        expected = oracle_level(path, shown.level)
        own_pictures = "jp2k" in name and shown.reduction > 1
        most = WAVELET_TOLERANCE if own_pictures else TOLERANCE
        assert apart(level_seen(reader, shown), packed(shown, expected)) < most


@pytest.mark.parametrize("width", [2048, 1024])
def test_ndpi_is_cut_along_its_slices(tmp_path: Path, width: int):
    path = write_ndpi(tmp_path / "a.ndpi", ndpi_levels(width, 1000, slice_width=512))
    reader, levels = opened(path)
    assert levels[0].reduction == 1
    for shown in levels:
        assert shown.level is not None
        assert apart(level_seen(reader, shown), packed(shown, read_level(reader, shown.level))) < TOLERANCE
    first = tile(reader, levels[0], 0, 0).jpeg
    np.testing.assert_array_equal(decoded(first), read_level(reader, 0)[:256, :512])


def test_slices_four_thousand_pixels_wide_are_cut_into_tiles(tmp_path: Path):
    pixels = np.tile(he_tissue(np.random.default_rng(2), 300, 512), (1, 16, 1))
    path = write_ndpi(tmp_path / "a.ndpi", [NdpiLevel(pixels=pixels, lens=40, slice_width=4096)])
    reader, levels = opened(path)
    assert (levels[0].tile_width, levels[0].tile_height, levels[0].columns) == (1024, 256, 8)
    assert apart(level_seen(reader, levels[0]), packed(levels[0], read_level(reader, 0))) < TOLERANCE


def test_colours_that_no_marker_tells_are_told_to_the_browser(tmp_path: Path):
    path = write_svs(tmp_path / "a.svs", width=720, height=480)
    reader, levels = opened(path)
    jpeg = tile(reader, levels[0], 0, 0).jpeg
    assert jpeg.startswith(bytes.fromhex("ffd8 ffee000e41646f6265006400000000") + b"\0")
    np.testing.assert_array_equal(decoded(jpeg), oracle_level(path, 0)[:240, :240])


@pytest.mark.parametrize("marker", [0xE1, 0xE2, 0xED, 0xFE], ids=["exif", "profile", "photoshop", "comment"])
def test_nothing_but_the_picture_leaves_the_file(tmp_path: Path, marker: int):
    saying = bytes((0xFF, marker)) + (2 + 8).to_bytes(2, "big") + b"Jane Doe"
    reader, _ = opened(write_svs(tmp_path / "a.svs", width=720, height=480))
    (encoded,) = reader.read_tiles(0, [0])
    piece = encoded.pieces[0][:2] + saying + encoded.pieces[0][2:]
    decoding = reader.find_decoding(0)
    assert decoding is not None
    jpeg = make_browser_jpeg([piece], decoding)
    assert jpeg is not None
    assert b"Jane Doe" in piece
    assert b"Jane Doe" not in jpeg
    assert {each for each, _, _ in read_segments(jpeg)} <= {0xEE, 0xDB, 0xC4, 0xC0, 0xDA, 0xDD}
    np.testing.assert_array_equal(decoded(jpeg), reader.decode(encoded))


def test_a_damaged_tile_is_hatched_and_counted_at_every_zoom():
    path = shared_slide("derived/cmu-small-region.two-tiles-damaged.svs")
    reader, levels = opened(path)
    damaged = _damaged(reader)
    assert len(damaged) == 2
    seen = level_seen(reader, levels[0])
    for shown in levels:
        counts = [tile(reader, shown, c, r).unreadable for r in range(shown.rows) for c in range(shown.columns)]
        assert sum(counts) == 2
    columns = levels[0].columns
    for index in damaged:
        box = levels[0].find_box(index % columns, index // columns)
        assert box is not None
        _assert_hatched(seen[box.top : box.bottom, box.left : box.right])
        half = level_seen(reader, levels[1])
        _assert_hatched(half[box.top // 2 : box.bottom // 2, box.left // 2 : box.right // 2])


def test_what_a_scanner_left_out_is_glass_and_no_damage(tmp_path: Path):
    path = write_picture(tmp_path / "a.dcm", tissue(600, 400), Writing(tile=200, sparse=True, tiles=(0, 2, 4, 5)))
    reader, levels = opened(path)
    hole = tile(reader, levels[0], 1, 0)
    assert hole.unreadable == 0
    assert decoded(hole.jpeg).min() == 255


def test_a_tile_made_of_sixteen_asks_for_their_bytes_and_no_others(tmp_path: Path):
    path = write_svs(tmp_path / "a.svs", width=4096, height=4096, tile=256, levels=(1,), associated=False)
    source = CountingSource(path.read_bytes())
    index = open_slide(remote(source)).serialize_index()
    source.asked.clear()
    reader = open_slide(remote(source), index=index)
    levels = build_levels(reader.inspection.levels)
    quarter = next(level for level in levels if level.reduction == 4)
    tile(reader, quarter, 1, 1)
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        columns = 4096 // 256
        under = [row * columns + column for row in range(4, 8) for column in range(4, 8)]
        needed = sum(page.databytecounts[index] for index in under)
    assert needed <= sum(asked.size for asked in source.asked) < 4 * needed  # what lies between them comes along
    assert len(source.asked) <= 4


def _damaged(reader) -> list[int]:
    info = reader.inspection.levels[0]
    count = -(-info.width // info.tile_width) * -(-info.height // info.tile_height)
    found = []
    for encoded in reader.read_tiles(0, range(count)):
        try:
            reader.decode(encoded)
        except TileUnreadable:
            found.append(encoded.index)
    return found


def _assert_hatched(pixels: Pixels) -> None:
    """Red and grey stripes, neither white nor tissue."""
    red, green = (pixels[..., channel].astype(int) for channel in range(2))
    assert red.max() > 180
    assert red.min() < 140
    assert pixels.mean() < 170
    grey = np.abs(red - green) < 12
    assert 0.2 < grey.mean() < 0.8
