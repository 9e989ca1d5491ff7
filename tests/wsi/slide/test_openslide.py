from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.shared_slides import shared_slide
from tests.slides.scn import write_scn
from tests.wsi.slide.sources import oracle_level, read_level
from wsi.errors import TileUnreadable
from wsi.slide.openslide import TILE, OpenSlideReader
from wsi.slide.slide import EncodedTile


def dicom() -> Path:
    return shared_slide("derived/cmu-small-region-dicom") / "volume-2220x2967.dcm"


def test_tiles_of_a_grid_of_512_px_make_the_whole_level():
    reader = OpenSlideReader(dicom())
    assert {(info.tile_width, info.tile_height) for info in reader.inspection.levels} == {(TILE, TILE)}
    np.testing.assert_array_equal(read_level(reader, 0), oracle_level(dicom(), 0))
    reader.close()


def test_edge_tiles_have_full_size_and_the_background_past_the_edge():
    reader = OpenSlideReader(dicom())
    corner = reader.decode(EncodedTile(0, 5 * 6 - 1, ()))
    assert corner.shape == (TILE, TILE, 3)
    assert (corner[2967 - 5 * TILE :] == 255).all()
    assert (corner[:, 2220 - 4 * TILE :] == 255).all()
    reader.close()


def test_threads_read_side_by_side():
    reader = OpenSlideReader(dicom())
    tiles = list(reader.read_tiles(0, range(30)))
    one_by_one = [reader.decode(tile) for tile in tiles]
    with ThreadPoolExecutor(4) as threads:
        for expected, found in zip(one_by_one, threads.map(reader.decode, tiles), strict=True):
            np.testing.assert_array_equal(found, expected)
    reader.close()


def test_a_region_that_fails_is_unreadable_and_the_next_ones_read_on():
    path = shared_slide("derived/cmu-small-region.two-tiles-damaged.svs")
    reader = OpenSlideReader(path)
    unreadable: dict[int, str] = {}
    readable = 0
    for tile in reader.read_tiles(0, range(30)):
        try:
            readable += reader.decode(tile).size > 0
        except TileUnreadable as error:
            unreadable[tile.index] = error.sentence
    # File tiles 65 and 66 cover x 1200 to 1680, y 1440 to 1680: rows 2 and 3, columns 2 and 3 of the 512-px grid.
    assert set(unreadable) == {12, 13, 17, 18}
    assert readable == 26
    assert all("missing SOS marker" in words for words in unreadable.values())
    assert all(path.stem not in words and "/" not in words for words in unreadable.values())
    reader.close()


@pytest.mark.parametrize("ground", [255, 0])
def test_what_was_not_scanned_has_the_colour_that_is_asked_for(tmp_path: Path, ground: int):
    reader = OpenSlideReader(write_scn(tmp_path / "bounds.scn"))
    info = reader.inspection.levels[0]
    last = -(-info.width // TILE) * -(-info.height // TILE) - 1
    assert reader.decode(EncodedTile(0, last, ()), fill=ground)[-1, -1].tolist() == [ground] * 3
    reader.close()


@pytest.mark.parametrize("mpp", [None, 0.4])
def test_the_resolution_names_its_source(mpp: float | None):
    reader = OpenSlideReader(dicom(), mpp=mpp)
    found = reader.inspection
    assert found.mpp_source == ("openslide" if mpp is None else "override")
    assert found.mpp_x == pytest.approx(0.499 if mpp is None else 0.4)
    reader.close()
