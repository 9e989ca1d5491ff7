"""Metrics of confusion matrices against values computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tessera.evaluation.metrics.confusion import compute_area_metrics, compute_confusion_metrics, count_confusion

AB = ("a", "b")
ABC = ("a", "b", "c")


def metrics(matrix: list[list[float]], names: tuple[str, ...] = AB, *, ordinal: bool = False) -> dict:
    found = compute_confusion_metrics(np.array(matrix, float), names, ordinal=ordinal)
    return {key: float(value) for key, value in found.items()}


def test_textbook_kappa_of_two_raters() -> None:
    # 50 grants, two readers (Wikipedia's example of Cohen's kappa): agreement 0.7, by chance 0.5, kappa 0.4.
    found = metrics([[20, 5], [10, 15]])
    assert found["accuracy", ""] == pytest.approx(0.7)
    assert found["kappa", ""] == pytest.approx(0.4)


def test_precision_recall_and_f1_by_hand() -> None:
    found = metrics([[6, 2], [1, 1]])
    assert found["precision", "a"] == pytest.approx(6 / 7)
    assert found["recall", "a"] == pytest.approx(6 / 8)
    assert found["f1", "a"] == pytest.approx(12 / 15)
    assert found["precision", "b"] == pytest.approx(1 / 3)
    assert found["balanced_accuracy", ""] == pytest.approx((6 / 8 + 1 / 2) / 2)
    assert found["f1_macro", ""] == pytest.approx((12 / 15 + 2 / 5) / 2)


def test_quadratic_kappa_by_hand() -> None:
    # Observed cost 1*1 + 4*1 = 5 of 4 samples; expected: margins (2, 1, 1) and (1, 2, 1), products over 4.
    matrix = [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
    costs = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
    truth, predicted = (2, 1, 1), (1, 2, 1)
    expected = sum(costs[i][j] * truth[i] * predicted[j] / 4 for i in range(3) for j in range(3))
    found = metrics(matrix, ABC, ordinal=True)
    assert found["kappa_quadratic", ""] == pytest.approx(1 - 1 / expected)
    assert ("kappa_quadratic", "") not in metrics(matrix, ABC)


def test_class_that_is_absent_from_the_truth_has_no_recall_and_is_left_out_of_the_mean() -> None:
    found = metrics([[3, 0, 1], [0, 4, 0], [0, 0, 0]], ABC)
    assert math.isnan(found["recall", "c"])
    assert found["balanced_accuracy", ""] == pytest.approx((3 / 4 + 1) / 2)
    assert found["precision", "c"] == 0


def test_matrix_without_samples_has_no_metric() -> None:
    assert all(math.isnan(value) for value in metrics([[0, 0], [0, 0]]).values())


def test_one_class_alone_has_no_kappa() -> None:
    assert math.isnan(metrics([[5, 0], [0, 0]])["kappa", ""])


def test_dice_and_jaccard_are_of_areas() -> None:
    found = compute_area_metrics(np.array([[30.0, 10.0], [20.0, 40.0]]), AB)
    assert float(found["dice", "a"]) == pytest.approx(60 / 90)
    assert float(found["jaccard", "a"]) == pytest.approx(30 / 60)


def test_counting_puts_truth_into_rows() -> None:
    truth, predicted = np.array([0, 0, 1]), np.array([0, 1, 1])
    assert count_confusion(truth, predicted, 2).tolist() == [[1, 1], [0, 1]]
    assert count_confusion(truth, predicted, 2, np.array([2.0, 3.0, 4.0])).tolist() == [[2, 3], [0, 4]]


MATRICES = arrays(np.int64, (3, 3), elements=st.integers(0, 50)).map(lambda matrix: matrix.astype(float))


@given(MATRICES)
def test_all_resamples_at_once_are_as_each_alone(matrix: np.ndarray) -> None:
    stacked = compute_confusion_metrics(np.stack([matrix, matrix.T]), ABC, ordinal=True)
    alone = compute_confusion_metrics(matrix, ABC, ordinal=True)
    for key, values in stacked.items():
        np.testing.assert_allclose(values[0], alone[key])


@given(MATRICES)
def test_dice_is_the_same_with_truth_and_prediction_exchanged(matrix: np.ndarray) -> None:
    one, other = compute_area_metrics(matrix, ABC), compute_area_metrics(matrix.T, ABC)
    for key, value in one.items():
        np.testing.assert_allclose(value, other[key])


@given(MATRICES)
def test_exchanging_truth_and_prediction_exchanges_precision_and_recall(matrix: np.ndarray) -> None:
    one, other = metrics(matrix.tolist(), ABC), metrics(matrix.T.tolist(), ABC)
    for name in ABC:
        np.testing.assert_allclose(one["precision", name], other["recall", name])
    np.testing.assert_allclose(one["kappa", ""], other["kappa", ""], atol=1e-12)


@given(st.lists(st.integers(1, 50), min_size=3, max_size=3))
def test_perfect_prediction_scores_1_everywhere(counts: list[int]) -> None:
    assert all(value == pytest.approx(1) for value in metrics(np.diag(counts).tolist(), ABC, ordinal=True).values())
