"""Windows of one size lie around kept boxes that tile the plane."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.wsi.objects.planes import OUTPUT
from wsi.objects.window import WindowGrid

SIDES = st.integers(1, 600)
PLACES = st.integers(-3, 50)


def make_grid(kept_x: int, kept_y: int, stride: int) -> WindowGrid:
    return WindowGrid.of(replace(OUTPUT, stride=stride), kept_x=kept_x, kept_y=kept_y, slide_x=1000, slide_y=800)


@given(SIDES, SIDES, st.sampled_from([1, 4, 8, 14]), PLACES, PLACES)
def test_a_window_begins_at_the_stride_and_holds_the_halo(
    kept_x: int, kept_y: int, stride: int, column: int, row: int
) -> None:
    grid = make_grid(kept_x, kept_y, stride)
    window = grid.place_window(column, row)
    box, kept = window.box, window.kept
    assert all(at % stride == 0 for at in (box.left, box.top, grid.side_x, grid.side_y))
    assert (box.right - box.left, box.bottom - box.top) == (grid.side_x, grid.side_y)
    assert min(kept.left - box.left, kept.top - box.top) >= grid.halo
    assert min(box.right - kept.right, box.bottom - kept.bottom) >= grid.halo
    assert grid.side_x < kept_x + 2 * grid.halo + 2 * stride


@given(SIDES, SIDES, PLACES, PLACES)
def test_a_point_has_the_box_that_holds_it(kept_x: int, kept_y: int, column: int, row: int) -> None:
    grid = make_grid(kept_x, kept_y, 4)
    kept = grid.place_window(column, row).kept
    corners = np.array([[kept.left, kept.top], [kept.right - 1, kept.bottom - 1], [kept.right, kept.top]], np.int32)
    assert grid.locate_boxes(corners).tolist() == [[column, row], [column, row], [column + 1, row]]


@given(SIDES, SIDES, PLACES, PLACES)
def test_trusted_boxes_are_found_by_their_places(kept_x: int, kept_y: int, column: int, row: int) -> None:
    grid = make_grid(kept_x, kept_y, 4)
    trusted = grid.place_window(column, row).trusted
    expected = [trusted.left, trusted.top, trusted.right, trusted.bottom]
    assert grid.locate_trusted(np.array([[column, row]])).tolist() == [expected]


def test_windows_of_boxes_at_the_stride_have_the_halo_and_no_more() -> None:
    grid = make_grid(64, 48, 4)
    assert (grid.side_x, grid.side_y) == (64 + 2 * OUTPUT.halo, 48 + 2 * OUTPUT.halo)


def test_the_halo_holds_the_margin_the_ring_and_the_largest_object() -> None:
    rule = OUTPUT.rule
    assert OUTPUT.halo - OUTPUT.stride < OUTPUT.margin + rule.reach + rule.least_core + OUTPUT.largest <= OUTPUT.halo
    assert make_grid(64, 48, OUTPUT.stride).sight >= OUTPUT.largest
