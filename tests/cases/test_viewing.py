"""Sizes at which viewers lost the last row or column of tiles, or asked for tiles of no size."""

from __future__ import annotations

import pytest

from wsi.records.slides import LevelInfo
from wsi.viewer.deep_zoom import build_levels, with_overview

SIZES = {
    "openseadragon#2321 a pixel is left over at most zooms": (3_073, 3_073, 256),
    "openseadragon#1065 the lowest row was not shown": (2_609, 3_424, 256),
    "openseadragon#2198 the last column was a few px too high": (2_609, 3_424, 512),
    "openseadragon#2701 tiles did not meet": (2_411, 3_372, 240),
    "libvips#1621 edge tiles had other addresses": (11_558, 11_081, 256),
    "libvips#1818 sizes were a pixel too large": (30_000, 26_319, 512),
    "openslide-python#111 tiles of changing sizes": (46_000, 32_914, 254),
    "openslide-python#257 tiles larger than asked for": (97_792, 221_184, 512),
}


@pytest.mark.parametrize(("width", "height", "tile"), SIZES.values(), ids=SIZES)
def test_tiles_of_every_zoom_cover_it_once(width: int, height: int, tile: int) -> None:
    base = LevelInfo(width=width, height=height, downsample=1.0, tile_width=tile, tile_height=tile)
    overview = (2_048, max(1, round(2_048 * height / width)))
    levels = with_overview(build_levels([base]), slide=(width, height), overview=overview)
    assert levels[0].downsample == 1.0
    for level in levels:
        assert level.width * level.downsample == pytest.approx(width, abs=2 * level.downsample)
        assert level.height * level.downsample == pytest.approx(height, abs=2 * level.downsample)
        last = level.find_box(level.columns - 1, level.rows - 1)
        assert last is not None
        assert last.width > 0
        assert last.height > 0
        assert (last.right, last.bottom) == (level.width, level.height)
        assert level.find_box(level.columns, 0) is None
        assert level.find_box(0, level.rows) is None
        inner = level.find_box(0, 0)
        assert inner is not None
        assert inner.width == min(level.tile_width, level.width)  # openslide-python#111, #257
