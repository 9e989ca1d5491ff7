"""Objects that no window holds are joined of their parts, and given once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.wsi.objects.planes import (
    OUTPUT,
    Maps,
    draw_clumps,
    find_rows,
    join_windows,
    list_rows,
    make_grid,
    run_windows,
)
from wsi.objects.found import Sight
from wsi.objects.part_table import PartTable

SMALL = replace(OUTPUT, largest=4)


def draw_mask(mask: np.ndarray) -> Maps:
    plane = np.zeros((4, *mask.shape), np.uint8)
    plane[:, mask] = 255
    plane[2, mask] = 51
    return plane


def draw_disc(side: int, radius: int, hole: int = 0) -> Maps:
    ys, xs = np.mgrid[:side, :side]
    away = (xs - side // 2) ** 2 + (ys - side // 2) ** 2
    return draw_mask((away <= radius**2) & (away >= hole**2))


@pytest.mark.parametrize("hole", [0, 30])
def test_an_object_larger_than_a_window_is_joined_of_its_parts(hole: int) -> None:
    plane = draw_disc(200, 90, hole)
    grid = make_grid(plane, 32, 40)
    assert grid.side_x < 180
    found = run_windows(plane, grid)
    joined = join_windows(found, grid)
    assert (joined.joined, joined.large, sum(len(one.table) for one in found)) == (1, 0, 0)
    (row,) = list_rows(joined.table)
    assert row.area == np.count_nonzero(plane[0])
    assert row.centroid == (100.5, 100.5)
    assert (row.point, row.named) == ((100, 10), 1)
    assert row.chances == (1.0, float(np.float32(0.2)), 1.0)
    assert len(row.rings) == (2 if hole else 1)
    assert joined.table.tiles.tolist() == [100 // 32]


def test_a_joined_object_is_the_one_of_a_window_that_holds_it() -> None:
    plane = draw_disc(200, 90, 30)
    assert find_rows(plane, 32, 40) == find_rows(plane, 200, 200) == find_rows(plane, 40, 31, seed=4)


def test_two_objects_that_touch_across_windows_stay_two() -> None:
    mask = np.ones((160, 60), np.bool_)
    plane = draw_mask(mask)
    #: Two cores as long as the slide, and between them what goes to the nearest.
    plane[1, :, 27:33] = 0
    rows = find_rows(plane, 30, 30, SMALL)
    assert [(row.point, row.area) for row in rows] == [((0, 0), 160 * 30), ((30, 0), 160 * 30)]


def test_parts_of_an_object_that_another_window_holds_are_dropped() -> None:
    mask = np.zeros((40, 120), np.bool_)
    mask[10:16, 25:55] = True
    plane = draw_mask(mask)
    grid = make_grid(plane, 30, 40, replace(SMALL, largest=12))
    found = run_windows(plane, grid, replace(SMALL, largest=12))
    sights = {int(sight) for one in found for sight in one.sights}
    assert sum(len(one.parts) for one in found) > 0
    assert sights <= {Sight.LONG, Sight.LARGE}
    joined = join_windows(found, grid)
    assert joined.joined == 0
    rows = find_rows(plane, 30, 40, replace(SMALL, largest=12))
    assert [(row.point, row.area) for row in rows] == [((25, 10), 180)]


def test_a_large_object_is_given_once_with_the_tile_of_its_point() -> None:
    for start in range(4, 34, 3):
        mask = np.zeros((120, 40), np.bool_)
        #: Its point is at the top right, its body goes far to the left, so that another window holds it.
        mask[30:34, 4:36] = mask[28:30, start : start + 2] = True
        plane = draw_mask(mask)
        whole = find_rows(plane, 40, 120, SMALL)
        for kept in (16, 20, 24):
            grid = make_grid(plane, kept, kept, SMALL)
            found = run_windows(plane, grid, SMALL)
            assert find_rows(plane, kept, kept, SMALL) == whole
            joined = join_windows(found, grid)
            places = grid.locate_boxes(joined.table.points)
            assert (joined.table.tiles == places[:, 1] * -(-40 // kept) + places[:, 0]).all()


@pytest.mark.parametrize("seed", range(12))
def test_clumps_larger_than_windows_are_the_same_whatever_the_windows(seed: int) -> None:
    plane = draw_clumps(seed, 120, 100)
    rows = find_rows(plane, 120, 100, SMALL)
    for kept_x, kept_y in ((12, 17), (24, 12), (40, 33)):
        assert find_rows(plane, kept_x, kept_y, SMALL, seed) == rows


def test_an_object_whose_own_tile_was_not_run_is_no_row() -> None:
    mask = np.zeros((60, 90), np.bool_)
    mask[10:50, 10:80] = True
    plane = draw_mask(mask)
    grid = make_grid(plane, 30, 60, SMALL)
    #: The first tile, whose box holds the point, is left out.
    found = [one for one in run_windows(plane, grid, SMALL) if 0 not in one.parts.tiles]
    joined = join_windows(found, grid)
    assert (len(joined.table), joined.joined) == (1, 1)
    assert joined.table.points.tolist() == [[30, 10]]
    assert joined.table.areas.tolist() == [50 * 40]


def test_pieces_joined_only_by_a_tile_that_was_not_run_are_objects_of_their_own() -> None:
    mask = np.zeros((90, 90), np.bool_)
    mask[5:85, 5:25] = mask[5:85, 65:85] = mask[5:25, 5:85] = True
    plane = draw_mask(mask)
    grid = make_grid(plane, 45, 30, SMALL)
    found = [one for one in run_windows(plane, grid, SMALL) if not {0, 1} & set(one.parts.tiles.tolist())]
    rows = list_rows(join_windows(found, grid).table)
    assert [(row.point, row.area, len(row.rings)) for row in rows] == [((5, 30), 1100, 1), ((65, 30), 1100, 1)]


def test_nothing_is_joined_of_nothing() -> None:
    plane = np.zeros((4, 60, 60), np.uint8)
    grid = make_grid(plane, 30, 30)
    joined = join_windows(run_windows(plane, grid), grid)
    assert (len(joined.table), joined.large, joined.joined, joined.outside) == (0, 0, 0, 0)


def test_parts_hold_the_pixels_of_their_box_and_of_the_next_column_and_row() -> None:
    plane = draw_disc(64, 31)
    found = run_windows(plane, make_grid(plane, 32, 32, SMALL), SMALL)
    parts, framed = PartTable.join([one.parts for one in found]), np.pad(plane[0], ((0, 1), (0, 1)))
    for row in range(len(parts)):
        left, top, right, bottom = parts.boxes[row]
        assert (parts.unpack(row) <= (framed[top:bottom, left:right] > 0)).all()
        assert right - left <= 33
    assert parts.areas.sum() == np.count_nonzero(plane[0])
