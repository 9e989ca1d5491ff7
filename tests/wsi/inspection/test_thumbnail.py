from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.shared_slides import shared_slide
from tests.slides import GLASS
from tests.slides.giant import write_giant
from wsi.errors import TileUnreadable
from wsi.inspection.thumbnail import Thumbnail, choose_overview_level, make_thumbnail
from wsi.records.slides import Inspection, LevelInfo
from wsi.slide.coding import Reduction
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.reducing import reduce_pixels
from wsi.slide.slide import RGB, EncodedTile


class ArraySlide:
    """One level that lies in memory, with tiles that can be declared broken, or to share bytes (`same`)."""

    def __init__(
        self,
        pixels: RGB,
        tile: tuple[int, int],
        broken: frozenset[int] = frozenset(),
        same: NDArray[np.int64] | None = None,
    ) -> None:
        self.pixels = pixels
        self.broken = broken
        self.same = same
        self.decoded = 0
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

    def read_tiles(self, level: int, tiles: Sequence[int]) -> Iterator[EncodedTile]:
        return (EncodedTile(level, tile, ()) for tile in tiles)

    def decode(self, tile: EncodedTile, reduction: Reduction = 1, fill: int = 255) -> RGB:
        self.decoded += 1
        if tile.index in self.broken:
            raise TileUnreadable("broken")
        info = self.inspection.levels[0]
        row, column = divmod(tile.index, -(-info.width // info.tile_width))
        whole = np.full((info.tile_height, info.tile_width, 3), 9, np.uint8)
        y, x = row * info.tile_height, column * info.tile_width
        part = self.pixels[y : y + info.tile_height, x : x + info.tile_width]
        whole[: part.shape[0], : part.shape[1]] = part
        return reduce_pixels(whole, reduction)

    def reduces(self, level: int) -> bool:
        return False

    def estimate_level_bytes(self, level: int) -> int:
        return self.pixels.size

    def map_duplicates(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        return tiles if self.same is None else self.same

    def serialize_index(self) -> None:
        return None

    def close(self) -> None:
        pass


def assert_means(made: Thumbnail, pixels: RGB, tolerance: float) -> None:
    """Each pixel of the overview is the mean of those under it."""
    factor = int(made.downsample)
    for row in range(made.pixels.shape[0]):
        for column in range(made.pixels.shape[1]):
            under = pixels[row * factor : (row + 1) * factor, column * factor : (column + 1) * factor].reshape(-1, 3)
            assert np.abs(made.pixels[row, column] - under.mean(axis=0)).max() <= tolerance


SIDES = st.integers(1, 120)


@settings(deadline=None)
@given(SIDES, SIDES, st.integers(1, 50), st.integers(1, 50), st.integers(30, 60))
def test_each_pixel_is_the_mean_of_the_level_pixels_under_it(height, width, tile_width, tile_height, max_px):
    pixels = np.random.default_rng(height * width).integers(0, 256, (height, width, 3), dtype=np.uint8)
    made = make_thumbnail(ArraySlide(pixels, (tile_width, tile_height)), max_px)
    assert max(made.pixels.shape) <= max_px
    assert made.readable.all()
    assert_means(made, pixels, 0.5 + 1e-9)


@settings(deadline=None)
@given(SIDES, SIDES, st.integers(1, 50), st.integers(1, 50), st.integers(3, 29))
def test_a_large_level_is_averaged_from_the_reduced_pixels_that_fill_it(height, width, tile_width, tile_height, max_px):
    pixels = np.random.default_rng(height * width).integers(0, 256, (height, width, 3), dtype=np.uint8)
    made = make_thumbnail(ArraySlide(pixels, (tile_width, tile_height)), max_px)
    assert max(made.pixels.shape) <= max_px
    assert made.readable.all()
    # Less than one reduced pixel, 8 of the level, is left out at the right and the bottom.
    scale = int(made.downsample)
    assert 0 <= -(-height // scale) - made.pixels.shape[0] <= 1
    assert 0 <= -(-width // scale) - made.pixels.shape[1] <= 1
    inside = pixels[: height - height % 8 or height, : width - width % 8 or width]
    whole = inside.shape[0] // scale, inside.shape[1] // scale
    assert_means(replace(made, pixels=made.pixels[: whole[0], : whole[1]]), pixels, 1.0)


def test_the_overview_is_the_same_for_any_number_of_threads():
    pixels = np.random.default_rng(5).integers(0, 256, (700, 1100, 3), dtype=np.uint8)
    slide = ArraySlide(pixels, (24, 16), frozenset({3, 77}))
    alone, many = make_thumbnail(slide, 100, threads=1), make_thumbnail(slide, 100, threads=7)
    assert (alone.pixels == many.pixels).all()
    assert (alone.readable == many.readable).all()
    assert alone.unreadable == many.unreadable == 2


def test_unreadable_tiles_are_counted_and_painted_as_glass():
    pixels = np.full((200, 300, 3), GLASS, np.uint8)
    pixels[50:150, 50:150] = (150, 60, 140)
    made = make_thumbnail(ArraySlide(pixels, (100, 100), frozenset({0, 5})), 300)
    assert (made.unreadable, made.tiles) == (2, 6)
    assert (made.pixels[:100, :100] == GLASS).all()
    assert (~made.readable).sum() == 2 * 100 * 100
    assert (made.pixels[110, 120] == (150, 60, 140)).all()


def sized(*sides: int) -> list[LevelInfo]:
    return [
        LevelInfo(width=side, height=side * 3 // 4, downsample=sides[0] / side, tile_width=256, tile_height=256)
        for side in sides
    ]


@pytest.mark.parametrize(
    ("sides", "level"),
    [
        ((40_000, 10_000, 2_500), 2),
        ((40_000, 20_000, 10_000, 5_000, 2_500, 1_250, 625), 5),
        ((65_000, 16_250, 4_062, 1_015), 3),  # 12 Mpx are more than 2 MB here
        ((65_000, 16_250, 4_062, 2_031, 1_015), 3),
        ((65_000, 16_250, 8_000, 1_000, 600), 3),  # the larger one of two that are small enough
        ((65_000, 16_250, 4_062, 400), 2),  # the smallest one shows too little
        ((100_000, 700), 1),  # rather a small overview than all of the slide's bytes
        ((100_000, 400), 0),
        ((100_000,), 0),
        ((900, 450), 0),
    ],
)
def test_the_level_that_is_read_shows_tissue_and_is_small(sides, level):
    levels = sized(*sides)
    assert choose_overview_level(levels, [level.width * level.height // 4 for level in levels], 2048) == level


@pytest.mark.parametrize(
    ("megabytes", "level"),
    [
        ((90.0, 6.0, 1.9, 0.9, 0.2), 2),
        ((90.0, 6.0, 2.1, 0.9, 0.2), 3),
        ((900.0, 60.0, 9.0, 3.0, 0.2), 3),  # the smallest of those that show enough
        ((90.0, 0.1, 2.1, 2.5, 0.2), 3),
    ],
)
def test_what_a_level_takes_in_the_file_decides_and_not_its_pixels(megabytes, level):
    sizes = [int(each * 1_000_000) for each in megabytes]
    assert choose_overview_level(sized(40_000, 10_000, 1_200, 600, 300), sizes, 2048) == level


def test_a_level_that_is_too_large_is_averaged_down():
    reader = open_slide(open_local_source(shared_slide("derived/cmu-small-region.pyramid-jpeg-ycbcr.tif")))
    levels = reader.inspection.levels
    assert make_thumbnail(reader, 1482).downsample == levels[2].downsample
    assert make_thumbnail(reader, 1484).downsample == levels[1].downsample
    assert make_thumbnail(reader, 5_000).pixels.shape[:2] == (2967, 2220)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 90),
    st.integers(1, 90),
    st.sampled_from([4, 7, 8]),
    st.sampled_from([4, 8, 13]),
    st.integers(1, 40),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_tiles_of_the_same_bytes_are_decoded_once_and_give_the_same_overview(
    height, width, tile_height, tile_width, max_px, seed, one_is_broken
):
    rng = np.random.default_rng(seed)
    rows, columns = -(-height // tile_height), -(-width // tile_width)
    pictures = rng.integers(0, 256, (3, tile_height, tile_width, 3), dtype=np.uint8)
    picks = rng.integers(3, size=rows * columns)
    whole = pictures[picks.reshape(rows, columns)].swapaxes(1, 2).reshape(rows * tile_height, columns * tile_width, 3)
    same = np.array([np.flatnonzero(picks == pick)[0] for pick in picks])
    broken = frozenset(np.flatnonzero(picks == 0).tolist()) if one_is_broken else frozenset[int]()
    # Whole tiles at the edges, too, as files hold them.
    once, each = (ArraySlide(whole, (tile_width, tile_height), broken, shared) for shared in (same, None))
    for slide in (once, each):
        level = replace(slide.inspection.levels[0], width=width, height=height)
        slide.inspection = replace(slide.inspection, width=width, height=height, levels=(level,))
    found, expected = (make_thumbnail(slide, max_px, threads=1) for slide in (once, each))
    assert np.array_equal(found.pixels, expected.pixels)
    assert np.array_equal(found.readable, expected.readable)
    assert (found.unreadable, found.tiles) == (expected.unreadable, expected.tiles)
    assert (once.decoded, each.decoded) == (len({*picks.tolist()}), len(picks))


def test_overview_of_600_000_tiles_that_share_16_places_takes_16_decodes(tmp_path: Path, monkeypatch):
    reader = open_slide(open_local_source(write_giant(tmp_path / "giant.svs", levels=(1,), side=200_000)))
    decoded: list[int] = []
    decode = reader.decode
    monkeypatch.setattr(reader, "decode", lambda tile, *args: (decoded.append(tile.index), decode(tile, *args))[1])
    found = make_thumbnail(reader, 2048)
    assert len(decoded) == 16
    assert (found.tiles, found.unreadable) == (782**2, 0)
