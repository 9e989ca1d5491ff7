"""Metrics of the order of scores against their definitions, pair by pair and threshold by threshold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera.evaluation.metrics.calibration import BINS, are_probabilities, compute_calibration_error, count_bins
from tessera.evaluation.metrics.ranking import (
    compute_auc,
    compute_average_precision,
    count_groups,
    group_scores,
    make_curves,
)

SCORED = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), st.booleans()), min_size=2, max_size=40)


def grouped(scores: list[float], chosen: list[bool]) -> tuple[np.ndarray, np.ndarray]:
    groups, number = group_scores(np.array(scores, np.float32))
    mask = np.array(chosen, bool)
    return count_groups(groups, number, mask), count_groups(groups, number, ~mask)


def auc(scores: list[float], chosen: list[bool]) -> float:
    return float(compute_auc(*grouped(scores, chosen)))


def average_precision(scores: list[float], chosen: list[bool]) -> float:
    return float(compute_average_precision(*grouped(scores, chosen)))


def auc_by_pairs(scores: list[float], chosen: list[bool]) -> float:
    high = [score for score, is_chosen in zip(scores, chosen, strict=True) if is_chosen]
    low = [score for score, is_chosen in zip(scores, chosen, strict=True) if not is_chosen]
    wins = [1 if a > b else 0.5 if a == b else 0 for a in high for b in low]
    return sum(wins) / len(wins) if wins else math.nan


def average_precision_by_thresholds(scores: list[float], chosen: list[bool]) -> float:
    total, before, found = sum(chosen), 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        taken = [is_chosen for score, is_chosen in zip(scores, chosen, strict=True) if score >= threshold]
        recall = sum(taken) / total
        found += (recall - before) * sum(taken) / len(taken)
        before = recall
    return found


def test_auc_with_ties_by_hand() -> None:
    # Pairs of 0.8 and 0.5 with 0.5 and 0.2: wins 1, 1, 0.5, 1 of 4.
    assert auc([0.8, 0.5, 0.5, 0.2], [True, True, False, False]) == pytest.approx(3.5 / 4)


def test_average_precision_by_hand() -> None:
    # Ranks 1 and 3 of 4 are positive: (1/1 + 2/3) / 2.
    assert average_precision([0.9, 0.8, 0.7, 0.6], [True, False, True, False]) == pytest.approx((1 + 2 / 3) / 2)


def test_equal_scores_have_the_auc_of_a_guess_and_the_precision_of_the_share() -> None:
    assert auc([0.5] * 5, [True, True, False, False, False]) == 0.5
    assert average_precision([0.5] * 5, [True, True, False, False, False]) == pytest.approx(0.4)


def test_auc_of_one_class_alone_is_undefined() -> None:
    assert math.isnan(auc([0.1, 0.2], [True, True]))
    assert math.isnan(average_precision([0.1, 0.2], [False, False]))


@given(SCORED)
def test_auc_is_the_share_of_ordered_pairs(scored: list[tuple[float, bool]]) -> None:
    scores, chosen = [score for score, _ in scored], [is_chosen for _, is_chosen in scored]
    np.testing.assert_allclose(auc(scores, chosen), auc_by_pairs(scores, chosen))


@given(SCORED)
def test_average_precision_is_the_sum_over_thresholds(scored: list[tuple[float, bool]]) -> None:
    scores, chosen = [score for score, _ in scored], [is_chosen for _, is_chosen in scored]
    if any(chosen):
        np.testing.assert_allclose(average_precision(scores, chosen), average_precision_by_thresholds(scores, chosen))


@given(SCORED)
def test_auc_of_reversed_scores_is_1_less_auc(scored: list[tuple[float, bool]]) -> None:
    scores, chosen = [score for score, _ in scored], [is_chosen for _, is_chosen in scored]
    if 0 < sum(chosen) < len(chosen):
        assert auc([-score for score in scores], chosen) == pytest.approx(1 - auc(scores, chosen))


@given(SCORED)
def test_area_under_the_drawn_curve_is_auc(scored: list[tuple[float, bool]]) -> None:
    scores, chosen = [score for score, _ in scored], [is_chosen for _, is_chosen in scored]
    if 0 < sum(chosen) < len(chosen):
        curves = make_curves(*grouped(scores, chosen))
        assert np.trapezoid(curves.recall, curves.false_positive_rate) == pytest.approx(auc(scores, chosen))
        assert (curves.recall[-1], curves.false_positive_rate[-1]) == (1, 1)


def test_few_groups_keep_the_order_of_scores_and_their_ties() -> None:
    scores = np.random.default_rng(0).random(10_000).astype(np.float32).round(3)
    groups, number = group_scores(scores, 64)
    assert number == 64
    assert groups.max() < 64
    order = np.argsort(scores)
    assert (np.diff(groups[order]) >= 0).all()
    assert len({(float(score), int(group)) for score, group in zip(scores, groups, strict=True)}) == len(set(scores))


def test_calibration_error_by_hand() -> None:
    # Bin of 0.2: 2 samples, scores 0.4, one chosen: |0.4 - 1| = 0.6. Bin of 0.9: 1 sample, 0.95, chosen: 0.05.
    bins = count_bins(np.array([0.2, 0.2, 0.95], np.float32), np.array([True, False, True]))
    assert float(compute_calibration_error(bins)) == pytest.approx(0.65 / 3, rel=1e-6)


def test_score_of_1_is_in_the_last_bin() -> None:
    assert count_bins(np.array([1.0], np.float32), np.array([True]))[:, BINS - 1].tolist() == [1, 1, 1]


def test_scores_beyond_0_to_1_are_no_probabilities() -> None:
    assert are_probabilities(np.array([0.0, 1.0], np.float32))
    assert not are_probabilities(np.array([0.0, 1.1], np.float32))
    assert not are_probabilities(np.array([np.nan], np.float32))
