"""Where pixels are said to lie: a slide that tells its own addresses, and one that lies within bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cuts import cut
from tests.slides.address import DOWNSAMPLES, SIDE, address, level_side, write_address_slide
from tests.slides.scn import REGION, SLIDE, write_scn
from wsi.slide.opening import open_local_source, open_slide


@pytest.fixture(scope="module")
def address_slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_address_slide(tmp_path_factory.mktemp("slide") / "address.tif")


@pytest.mark.parametrize("level", range(len(DOWNSAMPLES)))
def test_every_pixel_of_a_patch_says_its_own_place_and_level(address_slide: Path, level: int):
    reader = open_slide(open_local_source(address_slide))
    info = reader.inspection.levels[level]
    assert (info.width, info.height) == (level_side(level), level_side(level))
    assert info.downsample == pytest.approx(SIDE / level_side(level))
    side, last = 100, info.width - 100
    boxes = np.array([(0, 0), (256, 128), (301, 97), (last, last), (17, last)], np.int32)
    read = 0
    for position, pixels in cut(reader, level, info, boxes, side):
        x, y = boxes[position]
        np.testing.assert_array_equal(pixels, address(level, np.arange(x, x + side), np.arange(y, y + side)))
        read += 1
    assert read == len(boxes)


def test_an_scn_is_read_from_a_copy_and_says_where_in_the_slide_it_was_scanned(tmp_path: Path):
    reader = open_slide(open_local_source(write_scn(tmp_path / "region.scn")))
    found = reader.inspection
    assert (found.format, found.reading_path) == ("scn", "scratch")
    assert (found.width, found.height) == SLIDE
    assert found.bounds == REGION
    assert found.path_reason
    assert found.mpp_x == pytest.approx(0.5)
    reader.close()
