"""Outlines are valid polygons of a known area that never overlap."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from shapely import Polygon, union_all

from wsi.objects.components import find_components
from wsi.objects.table import Labels
from wsi.objects.tracing import Outlines, trace_outlines

Ring = list[list[int]]


def list_rings(outlines: Outlines, number: int) -> list[Ring]:
    """Return the rings of an object, in half px."""
    rings = range(outlines.first_rings[number - 1], outlines.first_rings[number])
    return [
        outlines.vertices[outlines.first_vertices[ring] : outlines.first_vertices[ring + 1]].tolist() for ring in rings
    ]


def make_polygon(rings: list[Ring]) -> Polygon:
    outer, *holes = [[(x / 2, y / 2) for x, y in ring] for ring in rings]
    return Polygon(outer, holes)


def trace_picture(*rows: str) -> list[list[Ring]]:
    labels = np.array([[int(letter, 16) if letter != "." else 0 for letter in row] for row in rows], np.int32)
    number = int(labels.max())
    outlines = trace_outlines(labels, number)
    return [list_rings(outlines, one) for one in range(1, number + 1)]


def draw_labels(seed: int) -> tuple[Labels, int]:
    """Return objects of random pixels, many of which touch another one at a side or a corner."""
    chance = np.random.default_rng(seed)
    colours = np.kron(chance.integers(0, 3, (20, 20)), np.ones((2, 1), np.int64))
    labels, number = np.zeros(colours.shape, np.int32), 0
    for colour in (1, 2):
        found, more = find_components(colours == colour)
        labels[found > 0] = found[found > 0] + number
        number += more
    return labels, number


def test_a_pixel_is_a_diamond() -> None:
    assert trace_picture("1") == [[[[1, 0], [2, 1], [1, 2], [0, 1]]]]


def test_a_ring_has_no_vertex_on_a_straight_line() -> None:
    assert trace_picture("111", "111") == [[[[1, 0], [5, 0], [6, 1], [6, 3], [5, 4], [1, 4], [0, 3], [0, 1]]]]


def test_a_staircase_is_straight() -> None:
    assert trace_picture("1..", "11.", "111") == [[[[1, 0], [6, 5], [5, 6], [1, 6], [0, 5], [0, 1]]]]


def test_holes_follow_the_outer_ring_by_their_first_vertices_and_turn_the_other_way() -> None:
    rings = trace_picture("11111", "1.1.1", "11111", "11.11", "11111")[0]
    assert [ring[0] for ring in rings] == [[1, 0], [3, 2], [7, 2], [5, 6]]
    assert [polygon.exterior.is_ccw for polygon in map(Polygon, rings)] == [True, False, False, False]


def test_holes_that_touch_at_a_corner_are_one() -> None:
    rings = trace_picture("1111", "1.11", "11.1", "1111")[0]
    assert len(rings) == 2
    assert make_polygon(rings).is_valid


def test_pixels_of_an_object_that_touch_at_a_corner_stay_apart_there() -> None:
    rings = trace_picture(".11", "1.1", "111")[0]
    assert len(rings) == 1
    assert make_polygon(rings).is_valid


def test_an_object_at_the_windows_edge_is_closed_there() -> None:
    first, second = trace_picture("12", "12")
    assert make_polygon(first[:1]).touches(make_polygon(second[:1]))


def test_outlines_begin_at_the_windows_place() -> None:
    outlines = trace_outlines(np.ones((1, 1), np.int32), 1, left=-3, top=100_000)
    assert outlines.vertices.min(axis=0).tolist() == [-6, 200_000]


def test_nothing_has_no_outline() -> None:
    outlines = trace_outlines(np.zeros((3, 4), np.int32), 0)
    assert (outlines.first_rings.tolist(), outlines.first_vertices.tolist()) == ([0], [0])
    assert outlines.vertices.shape == (0, 2)


@settings(max_examples=40)
@given(st.integers(0, 100_000))
def test_polygons_are_valid_of_a_known_area_and_do_not_overlap(seed: int) -> None:
    labels, number = draw_labels(seed)
    outlines = trace_outlines(labels, number)
    polygons: list[Polygon] = []
    for one in range(1, number + 1):
        rings = list_rings(outlines, one)
        polygon = make_polygon(rings)
        assert polygon.is_valid
        assert polygon.exterior.is_ccw
        assert not any(hole.is_ccw for hole in polygon.interiors)
        #: Each ring turns once: an outer one has four convex corners more than concave ones, a hole four fewer.
        assert polygon.area == np.count_nonzero(labels == one) - (1 - len(polygon.interiors)) / 2
        polygons.append(polygon)
    assert union_all(polygons).area == pytest.approx(sum(polygon.area for polygon in polygons))


@settings(max_examples=20)
@given(st.integers(0, 100_000))
def test_rings_are_in_their_one_form(seed: int) -> None:
    labels, number = draw_labels(seed)
    outlines = trace_outlines(labels, number)
    for one in range(1, number + 1):
        rings = list_rings(outlines, one)
        firsts = [(y, x) for (x, y), *_ in rings]
        assert firsts[0] == min(firsts)
        assert firsts[1:] == sorted(firsts[1:])
        for ring in rings:
            assert (ring[0][1], ring[0][0]) == min((y, x) for x, y in ring)
            assert not any(
                is_straight(*three) for three in zip(ring, ring[1:] + ring[:1], ring[-1:] + ring[:-1], strict=True)
            )
            assert all(first != second for first, second in pairwise(ring))


def is_straight(one: list[int], other: list[int], third: list[int]) -> bool:
    return (other[0] - one[0]) * (third[1] - one[1]) == (other[1] - one[1]) * (third[0] - one[0])


@settings(max_examples=20)
@given(st.integers(0, 100_000), st.integers(0, 40), st.integers(0, 40))
def test_an_outline_is_the_same_wherever_the_window_begins(seed: int, left: int, top: int) -> None:
    labels, number = draw_labels(seed)
    framed = np.pad(labels, ((top, 3), (left, 5)))
    here, there = trace_outlines(labels, number), trace_outlines(framed, number, -left, -top)
    columns: tuple[tuple[NDArray[np.int32], NDArray[np.int32]], ...] = (
        (here.vertices, there.vertices),
        (here.first_rings, there.first_rings),
        (here.first_vertices, there.first_vertices),
    )
    assert all(np.array_equal(one, other) for one, other in columns)
