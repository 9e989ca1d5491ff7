"""Tiles of old JPEG are libtiff's pixels, as Pillow reads them; what is no such tile is unreadable or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.shared_slides import shared_slide
from tests.slides import he_tissue
from tests.slides.old_jpeg import TILE, write_old_jpeg
from tests.wsi.slide.sources import read_level
from wsi.errors import RejectReason, SlideRejected, TileUnreadable
from wsi.slide.coding import Coding
from wsi.slide.decoding import decode_tile
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.reducing import reduce_pixels

PIXELS = he_tissue(np.random.default_rng(7), 100, 150)
TELEVISION = (16, 235, 128, 240, 128, 240)


def libtiffs(path: Path) -> np.ndarray:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


@pytest.mark.parametrize("sampling", ["444", "422", "420"])
@pytest.mark.parametrize("reference", [None, TELEVISION, (0, 255, 128, 255, 128, 255), (30, 200, 100, 220, 140, 250)])
def test_pixels_are_libtiffs(tmp_path: Path, sampling: Any, reference: tuple[int, ...] | None):
    path = write_old_jpeg(tmp_path / "old.tif", PIXELS[:, :TILE], sampling=sampling, reference=reference)
    reader = open_slide(open_local_source(path), mpp=0.5)
    assert reader.inspection.reading_path == "native"
    found = read_level(reader, 0)
    np.testing.assert_array_equal(found, libtiffs(path))
    np.testing.assert_array_equal(
        found, read_level(open_slide(open_local_source(path), index=reader.serialize_index()), 0)
    )


@pytest.mark.parametrize("sampling", ["444", "422", "420"])
def test_each_tile_is_as_it_would_be_alone(tmp_path: Path, sampling: Any):
    """libtiff 4.7 misreads such tiles when a row has several, and reads each alone rightly."""
    path = write_old_jpeg(tmp_path / "all.tif", PIXELS, sampling=sampling)
    whole = read_level(open_slide(open_local_source(path), mpp=0.5), 0)
    for y in range(0, PIXELS.shape[0], TILE):
        for x in range(0, PIXELS.shape[1], TILE):
            place = (slice(y, y + TILE), slice(x, x + TILE))
            alone = write_old_jpeg(tmp_path / "one.tif", PIXELS[place], sampling=sampling)
            np.testing.assert_array_equal(whole[place], libtiffs(alone))


def test_a_real_file_is_read_as_libtiff_reads_it():
    path = shared_slide("odd-tiff/libvips.ojpeg-tile.tif")
    np.testing.assert_array_equal(read_level(open_slide(open_local_source(path), mpp=0.5), 0), libtiffs(path))


def test_reduced_tiles_are_means(tmp_path: Path):
    reader = open_slide(open_local_source(write_old_jpeg(tmp_path / "old.tif", PIXELS)), mpp=0.5)
    (tile,) = reader.read_tiles(0, [1])
    np.testing.assert_array_equal(reader.decode(tile, 4), reduce_pixels(reader.decode(tile), 4))


@pytest.mark.parametrize(
    "change",
    [
        {"t513": (4, [8])},  # a whole JPEG somewhere
        {"t512": (3, [14])},  # lossless
        {"without": 519},
        {"t520": (4, [8, 8])},
        {"t530": (3, [3, 1])},
        {"t529": (5, [2126, 10_000, 7152, 10_000, 722, 10_000])},
        {"t262": (3, [2])},
        {"reference": (0, 1 << 31, 128, 255, 128, 255)},
    ],
)
def test_other_kinds_are_refused(tmp_path: Path, change: dict[str, Any]):
    path = write_old_jpeg(tmp_path / "old.tif", PIXELS, **change)
    with pytest.raises(SlideRejected) as caught:
        open_slide(open_local_source(path), mpp=0.5)
    assert caught.value.reason is RejectReason.UNSUPPORTED_COMPRESSION


@pytest.mark.parametrize("tag", ["t519", "t520", "t521"])
def test_tables_past_the_end_are_of_a_file_that_was_cut(tmp_path: Path, tag: str):
    path = write_old_jpeg(tmp_path / "old.tif", PIXELS, **{tag: (4, [1 << 30] * 3)})
    with pytest.raises(SlideRejected) as caught:
        open_slide(open_local_source(path), mpp=0.5)
    assert caught.value.reason is RejectReason.TRUNCATED


@pytest.fixture(scope="module")
def tile(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Coding]:
    path = write_old_jpeg(tmp_path_factory.mktemp("old") / "old.tif", PIXELS)
    reader = open_slide(open_local_source(path), mpp=0.5)
    (encoded,) = reader.read_tiles(0, [0])
    return b"".join(encoded.pieces), reader._index.levels[0].coding  # type: ignore[attr-defined]


@settings(deadline=None)
@given(data=st.data())
def test_damage_is_a_whole_tile_or_none(tile: tuple[bytes, Coding], data: st.DataObject):
    scan, coding = bytearray(tile[0]), tile[1]
    for place in data.draw(st.lists(st.integers(0, len(scan) - 1), min_size=1, max_size=4)):
        scan[place] = data.draw(st.integers(0, 255))
    scan = scan[: data.draw(st.integers(0, len(scan)))]
    try:
        pixels = decode_tile([bytes(scan)], coding, TILE, TILE)
    except TileUnreadable:
        return
    assert pixels.shape == (TILE, TILE, 3)
    assert pixels.dtype == np.uint8


def test_a_tile_cut_in_half_is_unreadable(tile: tuple[bytes, Coding]):
    with pytest.raises(TileUnreadable):
        decode_tile([tile[0][: len(tile[0]) // 2]], tile[1], TILE, TILE)
