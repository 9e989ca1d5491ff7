"""Objects matched by outlines and by centroids, against cases computed by hand and by trying every matching."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from tessera.evaluation.objects.areas import measure_common_area, merge_overlapping
from tessera.evaluation.objects.assignment import match_pairs
from tessera.evaluation.objects.counting import ALL, CountedObjects, MatchingRule, ObjectSet, count_objects
from tessera.evaluation.objects.matching import match_by_distance, match_by_overlap, measure_overlaps
from tessera.evaluation.objects.scores import ObjectCounts, compute_object_metrics, stack_counts

Box = tuple[float, float, float, float]


def shapes(*boxes: Box) -> np.ndarray:
    return np.array([shapely.box(*box) for box in boxes], object)


def objects(*boxes: Box, names: str = "") -> ObjectSet:
    return ObjectSet(shapes=shapes(*boxes), classes=np.array(list(names) or ["a"] * len(boxes), object))


def count(
    found: ObjectSet, true: ObjectSet, *, iou: float = 0.5, distance: float | None = None, area: Box | None = None
) -> CountedObjects:
    names = sorted({*found.classes, *true.classes})
    rule = MatchingRule(iou=iou, distance=distance, mpp=(0.5, 0.5))
    return count_objects(found, true, names, rule, None if area is None else shapely.box(*area))


def metrics(counted: CountedObjects, name: str = ALL) -> dict[str, float]:
    sums = stack_counts([counted.by_class], [name])[0]
    found = compute_object_metrics(sums, [name], outlines=True, by_distance=True)
    return {metric: float(value) for (metric, of), value in found.items() if of == name}


def test_panoptic_quality_by_hand() -> None:
    # IoU 1 and 0.6 are matched, one object is missed and two are extra: DQ = 2 / (2 + 1.5), SQ = 0.8.
    true = objects((0, 0, 10, 10), (20, 0, 30, 10), (40, 0, 50, 10))
    found = objects((0, 0, 10, 10), (20, 0, 26, 10), (60, 0, 70, 10), (80, 0, 90, 10))
    counted = count(found, true)
    assert counted.by_class[ALL].iou == pytest.approx(1.6)
    assert metrics(counted)["f1"] == pytest.approx(2 / 3.5)
    assert metrics(counted)["mean_iou"] == pytest.approx(0.8)
    assert metrics(counted)["pq"] == pytest.approx(0.8 * 2 / 3.5)
    assert metrics(counted)["precision"] == pytest.approx(0.5)
    assert metrics(counted)["recall"] == pytest.approx(2 / 3)
    assert metrics(counted)["dice"] == pytest.approx(2 * 160 / (360 + 300))


def test_below_one_half_the_largest_matching_wins_over_the_best_pair() -> None:
    # The best pair of all, (1, 0), would leave 0 and 1 alone.
    rows, columns, ious = np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0.45, 0.3, 0.48])
    assert match_pairs(rows, columns, 1 - ious).tolist() == [1, 2]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 10)), max_size=10))
def test_matching_is_the_best_of_all(pairs: list[tuple[int, int, int]]) -> None:
    costs = {(row, column): cost / 10 for row, column, cost in pairs}
    rows, columns = (np.array([pair[axis] for pair in costs], np.intp) for axis in (0, 1))
    chosen = match_pairs(rows, columns, np.array([*costs.values()], float))
    taken = [[*costs][number] for number in chosen]
    assert len({row for row, _ in taken}) == len({column for _, column in taken}) == len(taken)

    def weigh(order: tuple[int, ...]) -> tuple[int, float]:
        kept = [costs[row, column] for row, column in enumerate(order) if (row, column) in costs]
        return -len(kept), round(sum(kept), 9)

    assert (-len(taken), round(sum(costs[pair] for pair in taken), 9)) == min(map(weigh, permutations(range(4))))


def test_object_cut_into_halves_is_matched_once_at_one_half() -> None:
    overlaps = measure_overlaps(shapes((0, 0, 5, 10), (5, 0, 10, 10)), shapes((0, 0, 10, 10)))
    assert len(match_by_overlap(overlaps, 0.5).true) == 1
    assert len(match_by_overlap(overlaps, 0.51).true) == 0


def test_touching_objects_do_not_overlap() -> None:
    assert len(measure_overlaps(shapes((0, 0, 5, 5)), shapes((5, 0, 10, 5))).iou) == 0


def test_distance_is_in_microns_and_a_pair_at_the_limit_counts() -> None:
    true, found = np.array([[0.0, 0.0], [100.0, 0.0]]), np.array([[3.0, 0.0], [90.0, 0.0]])
    assert match_by_distance(found, true, 3.0).closeness.tolist() == [3.0]
    assert match_by_distance(found, true, 10.0).true.tolist() == [0, 1]


def test_distance_at_0_is_a_match() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0]])
    assert match_by_distance(points, points, 6.0).true.tolist() == [0, 1]
    assert match_by_distance(points, points, 6.0).closeness.tolist() == [0, 0]


def test_objects_of_another_class_match_in_all_and_not_in_their_class() -> None:
    counted = count(objects((0, 0, 10, 10), names="a"), objects((0, 0, 10, 10), names="b"), distance=1)
    assert (counted.by_class[ALL].matched, counted.by_class[ALL].matched_near) == (1, 1)
    assert (counted.by_class["a"].extra, counted.by_class["b"].missed) == (1, 1)
    assert counted.confusion.tolist() == [[0, 0], [1, 0]]
    assert (counted.by_class["a"].extra_near, counted.by_class["b"].missed_near) == (1, 1)


def test_border_of_the_area_makes_no_false_finding() -> None:
    true = objects((90, 0, 108, 10), (200, 0, 210, 10))
    found = objects((94, 0, 110, 10), (150, 0, 160, 10))  # its centroid is beyond the border, that of the true is not
    counted = count(found, true, area=(0, 0, 100, 100)).by_class[ALL]
    assert (counted.matched, counted.extra, counted.missed) == (1, 0, 0)
    assert (counted.true_area, counted.found_area, counted.both_area) == (25, 15, 15)


def test_found_object_with_a_partner_outside_of_the_area_is_not_extra() -> None:
    counted = count(objects((88, 0, 106, 10)), objects((94, 0, 110, 10)), area=(0, 0, 100, 100)).by_class[ALL]
    assert (counted.matched, counted.extra, counted.missed) == (0, 0, 0)


@pytest.mark.parametrize(("found", "true"), [((), ((0, 0, 1, 1),)), (((0, 0, 1, 1),), ()), ((), ())])
def test_empty_sets_are_counted(found: tuple[Box, ...], true: tuple[Box, ...]) -> None:
    counted = count(objects(*found), objects(*true), distance=2).by_class[ALL]
    assert (counted.extra, counted.missed) == (len(found), len(true))
    assert (counted.extra_near, counted.missed_near) == (len(found), len(true))


def test_place_that_overlapping_objects_share_counts_once() -> None:
    merged = merge_overlapping(shapes((0, 0, 10, 10), (5, 0, 15, 10), (50, 0, 60, 10)))
    assert sorted(shapely.area(merged)) == [100, 150]
    assert measure_common_area(merged, shapes((0, 0, 100, 5))) == 125


BOXES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(4, 12), st.integers(4, 12)).map(
        lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3])
    ),
    min_size=1,
    max_size=8,
)


@given(BOXES)
def test_perfect_prediction_scores_1(boxes: list[Box]) -> None:
    unique = sorted(set(boxes))
    assert set(metrics(count(objects(*unique), objects(*unique), distance=1)).values()) == {1.0}


@given(BOXES, BOXES)
def test_exchanging_found_and_true_exchanges_extra_and_missed(one: list[Box], other: list[Box]) -> None:
    first, second = metrics(count(objects(*one), objects(*other))), metrics(count(objects(*other), objects(*one)))
    assert first["dice"] == pytest.approx(second["dice"])
    assert first["f1"] == pytest.approx(second["f1"])
    assert first["pq"] == pytest.approx(second["pq"])
    assert first["precision"] == pytest.approx(second["recall"], nan_ok=True)
    assert 0 <= first["dice"] <= 1


def test_means_over_classes_leave_out_all() -> None:
    counts = {ALL: ObjectCounts(), "a": ObjectCounts(matched=1, iou=1), "b": ObjectCounts(matched=1, extra=2, iou=0.8)}
    sums = stack_counts([counts], [ALL, "a", "b"])[0]
    found = compute_object_metrics(sums, [ALL, "a", "b"], outlines=True, by_distance=False)
    assert float(found["f1_macro", ""]) == pytest.approx((1 + 0.5) / 2)
    assert float(found["pq_macro", ""]) == pytest.approx((1 + 0.4) / 2)
    assert np.isnan(found["f1", ""])
