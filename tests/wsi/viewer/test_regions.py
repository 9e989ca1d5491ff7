"""Regions of a slide at any scale."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import wsi.viewer.regions
from tests.shared_slides import shared_slide
from tests.slides import damage, write_pyramid_tiff
from tests.wsi.slide.sources import oracle_level
from wsi.errors import RejectReason, SlideRejected, TileUnreadable
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.slide import SlideReader
from wsi.viewer.regions import read_region


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """0.5 µm a pixel; levels of 0.5, 1 and 2 µm."""
    return write_pyramid_tiff(tmp_path_factory.mktemp("slides") / "a.tif", width=1500, height=1100)


@pytest.fixture(scope="module")
def reader(path: Path) -> Iterator[SlideReader]:
    with closing(open_slide(open_local_source(path))) as reader:
        yield reader


def test_without_a_scale_the_pixels_are_those_of_level_0(reader: SlideReader, path: Path) -> None:
    seen = read_region(reader, (201, 103), (700, 450))
    np.testing.assert_array_equal(seen, oracle_level(path, 0)[103:553, 201:901])


@pytest.mark.parametrize(("level", "mpp"), [(0, 0.5), (1, 1.0), (2, 2.0)])
def test_the_scale_of_a_level_gives_its_own_pixels(reader: SlideReader, path: Path, level: int, mpp: float) -> None:
    step = 2**level
    seen = read_region(reader, (40 * step, 20 * step), (90, 60), mpp)
    np.testing.assert_array_equal(seen, oracle_level(path, level)[20:80, 40:130])


@pytest.mark.parametrize("mpp", [0.75, 1.7, 5.3])
def test_between_levels_the_finer_one_is_shrunk(reader: SlideReader, path: Path, mpp: float) -> None:
    level = {0.75: 0, 1.7: 1, 5.3: 2}[mpp]
    own = 0.5 * 2**level
    whole = Image.fromarray(oracle_level(path, level))
    left, top, width, height = 260, 180, 100, 70
    at = (left / 2**level, top / 2**level)
    box = (*at, at[0] + width * mpp / own, at[1] + height * mpp / own)
    expected = np.asarray(whole.resize((width, height), Image.Resampling.BILINEAR, box=box))
    seen = read_region(reader, (left, top), (width, height), mpp)
    assert np.abs(seen.astype(int) - expected).max() <= 1  # Pillow may shrink down before across


def test_a_scale_finer_than_the_slide_enlarges_level_0(reader: SlideReader, path: Path) -> None:
    box = oracle_level(path, 0)[300:350, 400:450]
    seen = read_region(reader, (400, 300), (200, 200), 0.125)
    assert np.abs(seen.reshape(50, 4, 50, 4, 3).mean(axis=(1, 3)) - box).mean() < 6


def test_regions_side_by_side_fit_without_a_seam(reader: SlideReader) -> None:
    mpp, size = 0.8, 100  # a step of 160 level-0 px
    together = read_region(reader, (160, 160), (3 * size, 2 * size), mpp)
    rows = [
        np.concatenate([read_region(reader, (160 + 160 * x, 160 + 160 * y), (size, size), mpp) for x in range(3)], 1)
        for y in range(2)
    ]
    assert np.abs(np.concatenate(rows).astype(int) - together).max() <= 1


def test_a_large_region_is_made_in_bands(reader: SlideReader, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_region(reader, (0, 0), (500, 366), 1.5)
    monkeypatch.setattr(wsi.viewer.regions, "BAND_PIXELS", 20_000)
    assert np.abs(read_region(reader, (0, 0), (500, 366), 1.5).astype(int) - whole).max() <= 1


def test_past_the_edge_it_is_white(reader: SlideReader, path: Path) -> None:
    seen = read_region(reader, (-30, -20), (100, 100))
    assert (seen[:20] == 255).all()
    assert (seen[:, :30] == 255).all()
    np.testing.assert_array_equal(seen[20:, 30:], oracle_level(path, 0)[:80, :70])
    corner = read_region(reader, (1490, 1090), (50, 50))
    np.testing.assert_array_equal(corner[:10, :10], oracle_level(path, 0)[1090:, 1490:])
    assert (corner[10:] == 255).all()
    assert (read_region(reader, (5000, 0), (10, 10)) == 255).all()
    assert (read_region(reader, (-4000, 0), (10, 10), 3.0) == 255).all()


def test_a_damaged_tile_is_an_error_and_its_neighbours_are_read() -> None:
    path = shared_slide("derived/cmu-small-region.two-tiles-damaged.svs")
    with closing(open_slide(open_local_source(path))) as reader:
        with pytest.raises(TileUnreadable, match=r"The tile at \(\d+, \d+\) of level 0 cannot be decoded: .+\.$"):
            read_region(reader, (0, 0), (2220, 2967))
        assert read_region(reader, (0, 0), (240, 240)).shape == (240, 240, 3)


def test_a_slide_without_a_scale_has_level_0_alone(tmp_path: Path) -> None:
    bare = write_pyramid_tiff(tmp_path / "bare.tif", width=512, height=512, mpp=None)
    with closing(open_slide(open_local_source(bare))) as reader:
        assert read_region(reader, (0, 0), (64, 64)).shape == (64, 64, 3)
        with pytest.raises(SlideRejected) as rejected:
            read_region(reader, (0, 0), (64, 64), 1.0)
        assert rejected.value.reason is RejectReason.NO_MPP


def test_bytes_that_are_gone_are_an_error_not_white(tmp_path: Path) -> None:
    path = write_pyramid_tiff(tmp_path / "a.tif", width=512, height=512, levels=(1,))
    with closing(open_slide(open_local_source(path))) as whole:
        (tile, *_) = whole.read_tiles(0, [0])
    start = path.read_bytes().index(tile.pieces[0])
    damage(path, lambda data: data.__setitem__(slice(start, start + 400), bytes(400)))
    with closing(open_slide(open_local_source(path))) as reader, pytest.raises(TileUnreadable):
        read_region(reader, (0, 0), (512, 512))
