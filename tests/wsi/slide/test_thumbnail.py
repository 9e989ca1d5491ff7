from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared_slides import shared_slide
from tests.slides import GLASS
from wsi.errors import TileUnreadable
from wsi.records.slides import Inspection, LevelInfo
from wsi.slide.coding import Reduction
from wsi.slide.opening import local_source, open_slide
from wsi.slide.reducing import reduced
from wsi.slide.slide import RGB, EncodedTile
from wsi.slide.thumbnail import thumbnail


class ArraySlide:
    """One level that lies in memory, with tiles that can be declared broken."""

    def __init__(self, pixels: RGB, tile: tuple[int, int], broken: frozenset[int] = frozenset()) -> None:
        self.pixels = pixels
        self.broken = broken
        height, width = pixels.shape[:2]
        level = LevelInfo(width=width, height=height, downsample=1.0, tile_width=tile[0], tile_height=tile[1])
        self.inspection = Inspection(
            format="array",
            reading_path="native",
            vendor=None,
            width=width,
            height=height,
            levels=(level,),
            mpp_x=0.5,
            mpp_y=0.5,
            mpp_source="override",
        )

    def encoded(self, level: int, tiles: Sequence[int]) -> Iterator[EncodedTile]:
        return (EncodedTile(level, tile, ()) for tile in tiles)

    def decode(self, tile: EncodedTile, reduction: Reduction = 1) -> RGB:
        if tile.index in self.broken:
            raise TileUnreadable("broken")
        info = self.inspection.levels[0]
        row, column = divmod(tile.index, -(-info.width // info.tile_width))
        whole = np.full((info.tile_height, info.tile_width, 3), 9, np.uint8)
        y, x = row * info.tile_height, column * info.tile_width
        part = self.pixels[y : y + info.tile_height, x : x + info.tile_width]
        whole[: part.shape[0], : part.shape[1]] = part
        return reduced(whole, reduction)

    def index_bytes(self) -> None:
        return None

    def close(self) -> None:
        pass


@settings(deadline=None)
@given(st.integers(1, 120), st.integers(1, 120), st.integers(1, 50), st.integers(1, 50), st.integers(1, 60))
def test_each_pixel_is_the_mean_of_the_level_pixels_under_it(height, width, tile_width, tile_height, max_px):
    pixels = np.random.default_rng(height * width).integers(0, 256, (height, width, 3), dtype=np.uint8)
    made = thumbnail(ArraySlide(pixels, (tile_width, tile_height)), max_px)
    factor = int(made.downsample)
    assert max(made.pixels.shape) <= max(max_px, 3)
    assert made.readable.all()
    for row in range(made.pixels.shape[0]):
        for column in range(made.pixels.shape[1]):
            under = pixels[row * factor : (row + 1) * factor, column * factor : (column + 1) * factor].reshape(-1, 3)
            assert np.abs(made.pixels[row, column] - under.mean(axis=0)).max() <= 0.5 + 1e-9


def test_unreadable_tiles_are_counted_and_painted_as_glass():
    pixels = np.full((200, 300, 3), GLASS, np.uint8)
    pixels[50:150, 50:150] = (150, 60, 140)
    made = thumbnail(ArraySlide(pixels, (100, 100), frozenset({0, 5})), 300)
    assert (made.unreadable, made.tiles) == (2, 6)
    assert (made.pixels[:100, :100] == GLASS).all()
    assert (~made.readable).sum() == 2 * 100 * 100
    assert (made.pixels[110, 120] == (150, 60, 140)).all()


def test_the_smallest_level_that_is_large_enough_is_read():
    reader = open_slide(local_source(shared_slide("derived/cmu-small-region.pyramid-jpeg-ycbcr.tif")))
    levels = reader.inspection.levels
    assert thumbnail(reader, 741).downsample == levels[2].downsample
    assert thumbnail(reader, 742).downsample == 2 * levels[1].downsample
    assert thumbnail(reader, 5_000).pixels.shape[:2] == (2967, 2220)
