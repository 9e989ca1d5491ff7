from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wsi.errors import TileUnreadable
from wsi.records.slides import LevelInfo
from wsi.slide.patches import PatchAssembler
from wsi.slide.slide import RGB

sides = st.integers(1, 40)
levels = st.builds(
    LevelInfo,
    width=st.integers(1, 150),
    height=st.integers(1, 150),
    downsample=st.just(1.0),
    tile_width=sides,
    tile_height=sides,
)
Size = tuple[int, int]  #: width, height
sizes = st.tuples(st.integers(1, 90), st.integers(1, 90))
corners = st.lists(st.tuples(st.integers(-70, 170), st.integers(-70, 170)), max_size=12)


def picture(level: LevelInfo) -> RGB:
    rng = np.random.default_rng(level.width * 1_000 + level.height)
    return rng.integers(0, 256, (level.height, level.width, 3), dtype=np.uint8)


def file_tile(level: LevelInfo, pixels: RGB, index: int) -> RGB:
    """Full size; past the edge lies rubbish, as in real files."""
    row, column = divmod(index, -(-level.width // level.tile_width))
    tile = np.full((level.tile_height, level.tile_width, 3), 77, np.uint8)
    y, x = row * level.tile_height, column * level.tile_width
    part = pixels[y : y + level.tile_height, x : x + level.tile_width]
    tile[: part.shape[0], : part.shape[1]] = part
    return tile


def naive_crop(pixels: RGB, x: int, y: int, size: Size, fill: int) -> RGB:
    far, (width, height) = 300, size
    padded = np.pad(pixels, ((far, far), (far, far), (0, 0)), constant_values=fill)
    return padded[y + far : y + far + height, x + far : x + far + width]


def tiles_under(level: LevelInfo, x: int, y: int, size: Size) -> set[int]:
    columns, (width, height) = -(-level.width // level.tile_width), size
    rows = {row // level.tile_height for row in range(max(y, 0), min(y + height, level.height))}
    inside = {column // level.tile_width for column in range(max(x, 0), min(x + width, level.width))}
    return {row * columns + column for row in rows for column in inside}


@settings(deadline=None)
@given(levels, corners, sizes, st.integers(0, 255), st.randoms(use_true_random=False))
def test_boxes_equal_a_naive_crop_whatever_the_order_of_tiles(level, boxes, size, fill, random):
    pixels = picture(level)
    assembler = PatchAssembler(level, np.array(boxes, np.int32).reshape(-1, 2), *size, fill=fill)
    assert list(assembler.needed) == sorted(set().union(*(tiles_under(level, x, y, size) for x, y in boxes)))
    found = assembler.without_source()
    order = list(assembler.needed)
    random.shuffle(order)
    for tile in order:
        found += assembler.add(tile, file_tile(level, pixels, tile))
    assert sorted(position for position, _ in found) == list(range(len(boxes)))
    for position, patch in found:
        x, y = boxes[position]
        np.testing.assert_array_equal(patch, naive_crop(pixels, x, y, size, fill))


@settings(deadline=None)
@given(levels, corners, sizes, st.data())
def test_boxes_over_broken_tiles_name_all_of_them_and_others_are_whole(level, boxes, size, data):
    pixels = picture(level)
    assembler = PatchAssembler(level, np.array(boxes, np.int32).reshape(-1, 2), *size, fill=0)
    broken = data.draw(st.sets(st.sampled_from(assembler.needed))) if assembler.needed else set()
    found = dict(assembler.without_source())
    for tile in reversed(assembler.needed):
        whole = file_tile(level, pixels, tile)
        found.update(assembler.add(tile, TileUnreadable(f"bad {tile}") if tile in broken else whole))
    for position, (x, y) in enumerate(boxes):
        hurt = sorted(broken & tiles_under(level, x, y, size))
        if hurt:
            assert found[position] == "; ".join(f"file tile {tile}: bad {tile}" for tile in hurt)
        else:
            np.testing.assert_array_equal(found[position], naive_crop(pixels, x, y, size, 0))


@settings(deadline=None)
@given(levels, sizes, st.randoms(use_true_random=False))
def test_a_grid_of_boxes_shows_every_pixel_of_the_level_once(level, size, random):
    pixels, (width, height) = picture(level), size
    columns, rows = -(-level.width // width), -(-level.height // height)
    boxes = [(column * width, row * height) for row in range(rows) for column in range(columns)]
    assembler = PatchAssembler(level, np.array(boxes, np.int32), width, height, fill=9)
    order = list(assembler.needed)
    random.shuffle(order)
    canvas = np.zeros((rows * height, columns * width, 3), np.uint8)
    for tile in order:
        for position, patch in assembler.add(tile, file_tile(level, pixels, tile)):
            x, y = boxes[position]
            canvas[y : y + height, x : x + width] = patch
    np.testing.assert_array_equal(canvas[: level.height, : level.width], pixels)
    assert (canvas[level.height :] == 9).all()
    assert (canvas[:, level.width :] == 9).all()


def test_a_box_is_handed_out_as_soon_as_its_last_tile_comes():
    level = LevelInfo(width=40, height=20, downsample=1.0, tile_width=20, tile_height=20)
    assembler = PatchAssembler(level, np.array([[0, 0], [10, 0]], np.int32), 20, fill=255)
    tile = np.zeros((20, 20, 3), np.uint8)
    assert [position for position, _ in assembler.add(0, tile)] == [0]
    assert [position for position, _ in assembler.add(1, tile)] == [1]


def test_a_tile_that_is_not_awaited_is_an_error():
    level = LevelInfo(width=40, height=20, downsample=1.0, tile_width=20, tile_height=20)
    assembler = PatchAssembler(level, np.array([[0, 0]], np.int32), 20, fill=255)
    with pytest.raises(KeyError):
        assembler.add(1, np.zeros((20, 20, 3), np.uint8))
