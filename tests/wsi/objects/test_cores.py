"""Objects are the same whichever window shows them, as long as it shows them whole and what lies within their reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wsi.objects.components import find_components
from wsi.objects.cores import divide_objects
from wsi.objects.table import Labels
from wsi.records.outputs import CoreRule

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


def divide_plainly(inside: NDArray[np.uint8], depth: NDArray[np.uint8], rule: CoreRule) -> Labels:
    """Apply the rule as it is written, pixel by pixel: every pixel compares the cores' pixels that it may take."""
    within = inside >= rule.inside
    found, number = find_components(within & (depth >= rule.core))
    for label in range(1, number + 1):
        if np.count_nonzero(found == label) < rule.least_core:
            found[found == label] = 0
    steps = {(int(y), int(x)): (0, int(y), int(x)) for y, x in np.argwhere(found)}
    for step in range(1, rule.reach + 1):
        offers: dict[tuple[int, int], tuple[int, int, int]] = {}
        for (y, x), (taken, *root) in steps.items():
            for there in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                inner = all(0 <= at < side for at, side in zip(there, within.shape, strict=True))
                if taken == step - 1 and inner and within[there] and there not in steps:
                    offers[there] = min(offers.get(there, (step, 10**9, 0)), (step, root[0], root[1]))
        steps |= offers
    labels, names = np.zeros(inside.shape, np.int32), dict[int, int]()
    for y, x in sorted(steps):
        if steps[y, x][0] == 0:
            names.setdefault(int(found[y, x]), len(names) + 1)
    for (y, x), (_, *root) in steps.items():
        labels[y, x] = names[int(found[tuple(root)])]
    return labels


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([0.15, 0.3, 0.5]), st.integers(1, 6), st.integers(0, 6))
def test_the_fast_way_divides_as_the_rule_is_written(seed: int, share: float, least: int, reach: int) -> None:
    rule = CoreRule(inside=128, core=140, least_core=least, reach=reach)
    planes = draw_planes(seed, 30, share)
    assert divide_objects(*planes, rule).tolist() == divide_plainly(*planes, rule).tolist()


@settings(max_examples=150)
@given(
    st.integers(0, 10_000),
    st.tuples(st.integers(0, 30), st.integers(0, 30)),
    st.sampled_from([0.15, 0.3, 0.5]),
    st.integers(1, 4),
    st.integers(0, 4),
)
def test_objects_a_ring_away_from_the_border_are_those_of_the_plane(
    seed: int, corner: tuple[int, int], share: float, least: int, reach: int
) -> None:
    rule = CoreRule(inside=128, core=140, least_core=least, reach=reach)
    inside, depth = draw_planes(seed, 70, share)
    (top, left), side = corner, 40
    box = (slice(top, top + side), slice(left, left + side))

    def lies_within(one: frozenset[tuple[int, int]]) -> bool:
        inner = (range(start + rule.ring, start + side - rule.ring) for start in corner)
        rows, columns = inner
        return all(y in rows and x in columns for y, x in one)

    whole = collect_objects(divide_objects(inside, depth, rule), 0, 0)
    seen = collect_objects(divide_objects(inside[box], depth[box], rule), top, left)
    assert {one for one in whole if lies_within(one)} == {one for one in seen if lies_within(one)}


def test_a_core_that_begins_outside_of_the_window_changes_no_object_in_it() -> None:
    inside = np.zeros((40, 30), np.uint8)
    depth = np.zeros((40, 30), np.uint8)
    inside[30, 5:20] = 255
    depth[30, 5:8] = depth[30, 17:20] = 255
    #: The core at the right begins at the top of the plane, far above the window: it would be the first of the two.
    inside[0:31, 19] = depth[0:31, 19] = 255
    rule = CoreRule(inside=128, core=140, least_core=2, reach=6)
    whole, seen = divide_objects(inside, depth, rule)[20:], divide_objects(inside[20:], depth[20:], rule)
    assert (whole[10] == whole[10, 5]).tolist() == (seen[10] == seen[10, 5]).tolist()


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
        assert find_components(labels == number)[1] == 1


def test_nothing_gives_no_objects() -> None:
    empty = np.zeros((4, 4), np.uint8)
    assert not divide_objects(empty, empty, RULE).any()
