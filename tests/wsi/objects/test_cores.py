"""Objects are the same whichever window shows them, as long as it shows them whole and what lies within their reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import ndimage

from models.nuclei.cores import CoreRule, Labels, divide_objects

RULE = CoreRule(inside=128, core=140, least_core=2, reach=3)
Planes = tuple[NDArray[np.uint8], NDArray[np.uint8]]


def draw_planes(seed: int, side: int, share: float) -> Planes:
    """Return random blobs: probabilities and depths that vary slowly, so that cores touch, part and share reach."""
    chance = np.random.default_rng(seed)
    coarse = chance.random((side // 4 + 1, side // 4 + 1)) < share
    inside = np.kron(coarse, np.ones((4, 4)))[:side, :side] * chance.integers(90, 256, (side, side))
    depth = np.where(chance.random((side, side)) < 0.4, 200, 90)
    return inside.astype(np.uint8), depth.astype(np.uint8)


def collect_objects(labels: Labels, top: int, left: int) -> set[frozenset[tuple[int, int]]]:
    return {
        frozenset((top + int(y), left + int(x)) for y, x in np.argwhere(labels == number))
        for number in range(1, labels.max() + 1)
    }


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(0, 20), st.integers(0, 20), st.sampled_from([0.15, 0.3, 0.5]))
def test_a_window_finds_the_objects_whose_surroundings_it_holds(seed: int, top: int, left: int, share: float) -> None:
    inside, depth = draw_planes(seed, 64, share)
    whole = collect_objects(divide_objects(inside, depth, RULE), 0, 0)
    box = (slice(top, top + 40), slice(left, left + 40))
    seen = collect_objects(divide_objects(inside[box], depth[box], RULE), top, left)
    #: What may differ: an object that another one within its reach, cut by the window, bounds in another place.
    margin = 2 * RULE.reach + 1

    def lies_within(one: frozenset[tuple[int, int]], away: int) -> bool:
        return all(top + away <= y < top + 40 - away and left + away <= x < left + 40 - away for y, x in one)

    cut = {one for one in whole if not lies_within(one, 0)}
    for one in whole:
        if lies_within(one, margin) and not any(_touch(one, other, margin) for other in cut):
            assert one in seen


def _touch(one: frozenset[tuple[int, int]], other: frozenset[tuple[int, int]], away: int) -> bool:
    return any(abs(y - v) <= away and abs(x - u) <= away for y, x in one for v, u in other)


def test_two_cores_in_one_clump_part_it_between_them() -> None:
    inside = np.full((5, 11), 255, np.uint8)
    depth = np.zeros((5, 11), np.uint8)
    depth[2, 1:3] = depth[2, 8:10] = 255
    labels = divide_objects(inside, depth, CoreRule(inside=128, core=140, least_core=2, reach=9))
    assert labels[2].tolist() == [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]


def test_an_object_reaches_no_further_than_its_rule() -> None:
    inside = np.full((1, 20), 255, np.uint8)
    depth = np.zeros((1, 20), np.uint8)
    depth[0, :2] = 255
    assert divide_objects(inside, depth, RULE)[0].tolist() == [1] * 5 + [0] * 15


def test_an_object_does_not_cross_what_is_outside() -> None:
    inside = np.full((3, 8), 255, np.uint8)
    inside[:, 4] = 0
    depth = np.zeros((3, 8), np.uint8)
    depth[1, 1:3] = 255
    labels = divide_objects(inside, depth, CoreRule(inside=128, core=140, least_core=2, reach=9))
    assert not labels[:, 4:].any()
    assert labels[:, :4].all()


@pytest.mark.parametrize("size", [1, 2])
def test_a_core_below_the_least_size_is_none(size: int) -> None:
    inside = np.full((3, 6), 255, np.uint8)
    depth = np.zeros((3, 6), np.uint8)
    depth[1, 1 : 1 + size] = 255
    assert divide_objects(inside, depth, RULE).max() == (1 if size == 2 else 0)


def test_objects_are_numbered_from_the_top_and_then_from_the_left() -> None:
    inside = np.full((8, 8), 255, np.uint8)
    depth = np.zeros((8, 8), np.uint8)
    for y, x in ((5, 1), (0, 6), (2, 1)):
        depth[y, x : x + 2] = 255
    labels = divide_objects(inside, depth, CoreRule(inside=128, core=140, least_core=2, reach=0))
    assert [int(labels[y, x]) for y, x in ((0, 6), (2, 1), (5, 1))] == [1, 2, 3]


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([0.15, 0.3, 0.5]))
def test_the_pixels_of_an_object_share_sides(seed: int, share: float) -> None:
    labels = divide_objects(*draw_planes(seed, 48, share), RULE)
    for number in range(1, labels.max() + 1):
        assert ndimage.label(labels == number)[1] == 1


def test_nothing_gives_no_objects() -> None:
    empty = np.zeros((4, 4), np.uint8)
    assert not divide_objects(empty, empty, RULE).any()
