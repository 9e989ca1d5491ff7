from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wsi.objects.ordering import order_tiles_in_space


def grid(columns: int, rows: int, stride: int = 1) -> np.ndarray:
    return np.stack(np.meshgrid(np.arange(columns), np.arange(rows), indexing="ij"), axis=2).reshape(-1, 2) * stride


def test_each_tile_of_a_square_is_beside_the_one_before() -> None:
    corners = grid(16, 16, 512) + np.array([40, 8])
    steps = np.abs(np.diff(corners[order_tiles_in_space(corners)], axis=0)).sum(axis=1)
    assert {*steps.tolist()} == {512}


def test_the_smallest_curve_begins_in_the_corner() -> None:
    corners = grid(2, 2)
    order = corners[order_tiles_in_space(corners)].tolist()
    assert order[0] == [0, 0]
    assert order[-1] in ([0, 1], [1, 0])


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90)), max_size=40))
def test_every_tile_comes_once(places: list[tuple[int, int]]) -> None:
    order = order_tiles_in_space(np.array(places, np.int32).reshape(-1, 2) * 224)
    assert sorted(order.tolist()) == list(range(len(places)))


def test_a_run_of_tiles_covers_a_compact_part() -> None:
    corners = grid(64, 64)
    runs = corners[order_tiles_in_space(corners)].reshape(-1, 64, 2)
    assert (np.ptp(runs, axis=1) == 7).all()  # 64 tiles in a row are a square of 8 x 8
