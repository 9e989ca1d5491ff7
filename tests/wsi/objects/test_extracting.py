"""The objects of a slide are the same to the last vertex whatever the windows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wsi.objects.planes import (
    OUTPUT,
    Maps,
    Row,
    cut_window,
    draw_clumps,
    find_rows,
    list_rows,
    make_grid,
    run_windows,
    select_sights,
)
from wsi.objects.cores import divide_objects
from wsi.objects.extracting import extract_objects
from wsi.objects.found import Sight
from wsi.objects.tracing import trace_outlines

SIDE = 192
KEPT = 48


Slide = tuple[Maps, dict[tuple[int, int], int]]


def draw_slide() -> Slide:
    """Return maps with objects over all borders and corners of boxes of 48 px, by their middles in half px the area of
    each: discs, rings, and pairs that touch."""
    plane = np.zeros((4, SIDE, SIDE), np.uint8)
    areas: dict[tuple[int, int], int] = {}
    ys, xs = np.mgrid[:SIDE, :SIDE]
    for row in range(12, SIDE - 8, 24):
        for column in range(12, SIDE - 8, 24):
            away = (xs - column) ** 2 + (ys - row) ** 2
            kind = (row // 24 + column // 24) % 3
            disc = away <= 64
            if kind == 1:
                disc &= away > 9
            plane[0, disc] = 180
            plane[1, disc & (away <= 36)] = 255
            plane[2 + kind % 2, disc] = 255
            if kind == 2:
                #: Two discs of one clump, each with a core, that meet in a straight line.
                pair = ((xs - column) ** 2 + (ys - row + 4) ** 2 <= 16) | (
                    (xs - column) ** 2 + (ys - row - 4) ** 2 <= 16
                )
                plane[:, disc] = 0
                plane[0, pair] = 180
                plane[1, pair & (np.abs(ys - row) >= 3)] = 255
                plane[2, pair] = 255
                upper = pair & (ys <= row)
                areas[find_middle(upper)] = int(np.count_nonzero(upper))
                areas[find_middle(pair & ~upper)] = int(np.count_nonzero(pair & ~upper))
            else:
                areas[find_middle(disc)] = int(np.count_nonzero(disc))
    return plane, areas


def find_middle(mask: np.ndarray) -> tuple[int, int]:
    ys, xs = np.nonzero(mask)
    return round(2 * (xs.mean() + 0.5)), round(2 * (ys.mean() + 0.5))


@pytest.fixture(scope="module")
def slide() -> Slide:
    return draw_slide()


def find_middles(rows: list[Row]) -> dict[tuple[int, int], int]:
    return {(round(2 * row.centroid[0]), round(2 * row.centroid[1])): row.area for row in rows}


@pytest.mark.parametrize(("kept_x", "kept_y"), [(48, 48), (64, 24), (50, 31), (SIDE, SIDE)])
def test_drawn_objects_are_found_once_with_their_area_and_middle(slide: Slide, kept_x: int, kept_y: int) -> None:
    plane, areas = slide
    rows = find_rows(plane, kept_x, kept_y)
    assert len(rows) == len(areas)
    assert find_middles(rows) == areas


def test_windows_of_two_sizes_in_any_order_find_the_same_objects(
    slide: Slide,
) -> None:
    plane, _ = slide
    rows = find_rows(plane, 48, 48)
    assert rows == find_rows(plane, 64, 24, seed=1) == find_rows(plane, 50, 31, seed=2)
    assert sorted({len(row.rings) for row in rows}) == [1, 2]


def test_an_object_has_the_chances_and_the_class_of_its_pixels(slide: Slide) -> None:
    plane, _ = slide
    rows = find_rows(plane, 48, 48)
    assert {row.chances[0] for row in rows} == {float(np.float32(180 / 255))}
    rings = [row for row in rows if len(row.rings) == 2]
    assert {(row.named, row.chances[1:]) for row in rings} == {(1, (0.0, 1.0))}
    assert {row.named for row in rows if len(row.rings) == 1} == {0}


def test_an_output_of_one_class_has_one_chance() -> None:
    plane, areas = draw_slide()
    rows = find_rows(plane[:2], 48, 48, replace(OUTPUT, classes=("cell",)))
    assert len(rows) == len(areas)
    assert {(row.named, len(row.chances)) for row in rows} == {(0, 1)}


def test_rows_are_ordered_by_point_and_lie_in_their_tile() -> None:
    plane = draw_clumps(3, SIDE, SIDE)
    grid = make_grid(plane, KEPT, KEPT)
    for found in run_windows(plane, grid):
        own = found.table.select(np.flatnonzero(found.sights != Sight.LARGE))
        places = grid.locate_boxes(own.points)
        assert (places[:, 1] * (SIDE // KEPT) + places[:, 0] == own.tiles).all()
        points = [(y, x) for x, y in found.table.points.tolist()]
        assert points == sorted(points)


def test_nothing_gives_no_rows() -> None:
    plane = np.zeros((4, 60, 60), np.uint8)
    grid = make_grid(plane, 60, 60)
    found = extract_objects(np.zeros((4, grid.side_y, grid.side_x), np.uint8), grid.place_window(0, 0), OUTPUT, 5)
    assert (len(found.table), len(found.sights), len(found.parts)) == (0, 0, 0)
    assert found.table.chances.shape == (0, 3)


def test_there_are_no_objects_beyond_the_slide() -> None:
    plane = np.full((4, 30, 30), 255, np.uint8)
    grid = make_grid(plane, 30, 30, replace(OUTPUT, largest=40))
    maps = np.full((4, grid.side_y, grid.side_x), 255, np.uint8)
    found = extract_objects(maps, grid.place_window(0, 0), OUTPUT, 0)
    assert [(row.point, row.area) for row in list_rows(found.table)] == [((0, 0), 900)]


def test_a_window_gives_no_object_of_another_box() -> None:
    plane = draw_clumps(3, SIDE, SIDE)
    grid = make_grid(plane, KEPT, KEPT)
    table = select_sights(run_windows(plane, grid), Sight.OWN, Sight.LONG)
    assert len({tuple(point) for point in table.points.tolist()}) == len(table)


@settings(max_examples=25)
@given(st.integers(0, 100_000), st.integers(20, 70), st.integers(20, 70))
def test_windows_find_what_one_window_of_the_whole_slide_finds(seed: int, kept_x: int, kept_y: int) -> None:
    plane = draw_clumps(seed, 110, 90)
    whole = find_rows(plane, 110, 90)
    assert find_rows(plane, kept_x, kept_y, seed=seed) == whole
    labels = divide_objects(plane[0], plane[1], OUTPUT.rule)
    assert [row.area for row in whole] == count_areas(labels)


def count_areas(labels: np.ndarray) -> list[int]:
    numbers, firsts, areas = np.unique(labels, return_index=True, return_counts=True)
    return [int(areas[place]) for place in np.argsort(firsts) if numbers[place] > 0]


@settings(max_examples=25)
@given(st.integers(0, 100_000), st.integers(20, 60), st.integers(0, 3), st.integers(0, 3))
def test_a_complete_object_is_that_of_the_slide(seed: int, kept: int, column: int, row: int) -> None:
    plane = draw_clumps(seed, 110, 90)
    labels = divide_objects(plane[0], plane[1], OUTPUT.rule)
    outlines = trace_outlines(labels, int(labels.max()))
    grid = make_grid(plane, kept, kept)
    window = grid.place_window(column, row)
    maps = cut_window(plane, window, np.random.default_rng(seed))
    for found in list_rows(extract_objects(maps, window, OUTPUT, 0).table):
        number = labels[found.point[1], found.point[0]]
        first, last = outlines.first_rings[number - 1 : number + 1]
        vertices = outlines.vertices[outlines.first_vertices[first] : outlines.first_vertices[last]].tolist()
        assert [list(vertex) for ring in found.rings for vertex in ring] == vertices


@settings(max_examples=25)
@given(st.integers(0, 100_000), st.integers(20, 60))
def test_the_halo_holds_every_object_of_the_largest_side(seed: int, kept: int) -> None:
    plane = draw_clumps(seed, 110, 90)
    for found in run_windows(plane, make_grid(plane, kept, kept), seed=seed):
        large = found.table.select(np.flatnonzero(found.sights == Sight.LARGE))
        for row in list_rows(large):
            assert np.ptp(np.array(row.rings[0]), axis=0).max() > 2 * OUTPUT.largest
