from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from wsi.records.slides import LevelInfo
from wsi.slide.placement import place, place_in_strips

LEVELS = st.builds(
    LevelInfo,
    width=st.integers(1, 60),
    height=st.integers(1, 60),
    downsample=st.just(1.0),
    tile_width=st.integers(1, 20),
    tile_height=st.integers(1, 20),
)
BOXES = st.lists(st.tuples(st.integers(-15, 70), st.integers(-15, 70)), max_size=9)


@settings(deadline=None)
@given(LEVELS, BOXES, st.integers(1, 25), st.integers(1, 25), st.integers(1, 5), st.randoms(use_true_random=False))
def test_pieces_make_every_box_once_in_any_order_of_tiles_and_in_strips(level, boxes, width, height, most, random):
    """Walks the tiles as a decoder does and looks at what it would find."""
    given = np.array(boxes, np.int32).reshape(-1, 2)
    columns, rows = -(-level.width // level.tile_width), -(-level.height // level.tile_height)
    image = np.random.default_rng(0).integers(1, 256, (level.height, level.width))
    stored = np.zeros((rows * level.tile_height, columns * level.tile_width), int)
    stored[: level.height, : level.width] = image
    made = np.zeros((len(given), height, width), int)
    seen: list[int] = []

    def ordered(tiles):
        return np.array(random.sample(tiles.tolist(), len(tiles)), np.int64)

    for chosen, placed in place_in_strips(level, given, width, height, ordered, most=most):
        lacking, window = placed.lacking.copy(), 0
        assert placed.begun[0] == np.count_nonzero(lacking == 0)
        for number, tile in enumerate(placed.tiles.tolist()):
            top, left = tile // columns * level.tile_height, tile % columns * level.tile_width
            part = placed.pieces[int(placed.first[number]) : int(placed.first[number + 1])]
            assert len(part.box)
            assert part.box.max() < placed.begun[number + 1]
            window = max(window, int(placed.begun[number + 1]) - int(np.flatnonzero(lacking)[0]))
            for box, x, y, to_x, to_y, across, down in part.table:
                lacking[box] -= 1
                target = made[chosen[placed.order[box]]]
                target[to_y : to_y + down, to_x : to_x + across] += stored[
                    top + y : top + y + down, left + x : left + x + across
                ]
        assert not lacking.any()
        assert window == placed.window
        assert window <= most or len(chosen) <= most
        seen += chosen.tolist()
    assert sorted(seen) == list(range(len(given)))

    around = np.zeros((200, 200), int)
    around[50 : 50 + level.height, 50 : 50 + level.width] = image
    for box, (x, y) in zip(made, boxes, strict=True):
        np.testing.assert_array_equal(box, around[50 + y : 50 + y + height, 50 + x : 50 + x + width])


def test_a_box_past_the_edge_is_told_from_one_inside():
    level = LevelInfo(width=100, height=100, downsample=1, tile_width=20, tile_height=20)
    placed = place(level, np.array([[0, 0], [90, 0], [200, 0]], np.int32), 20, 20)
    assert dict(zip(placed.order.tolist(), placed.edge.tolist(), strict=True)) == {0: False, 1: True, 2: True}
    assert placed.order[0] == 2  # of no tile: it is there from the start


def test_a_row_of_boxes_is_open_at_a_time():
    level = LevelInfo(width=40_000, height=38_000, downsample=1, tile_width=240, tile_height=240)
    corners = np.arange(8_000, 32_000, 256)
    boxes = np.stack(np.meshgrid(corners, corners[:20]), axis=-1).reshape(-1, 2).astype(np.int32)
    placed = place(level, boxes, 256, 256)
    assert len(corners) <= placed.window <= 2 * len(corners)
    ((chosen, whole),) = place_in_strips(level, boxes, 256, 256, most=placed.window)
    assert len(chosen) == len(boxes)
    assert len(whole.tiles) == len(placed.tiles)
    strips = list(place_in_strips(level, boxes, 256, 256, most=50))
    assert sum(len(chosen) for chosen, _ in strips) == len(boxes)
    assert sum(len(strip.tiles) for _, strip in strips) < 1.1 * len(placed.tiles)
