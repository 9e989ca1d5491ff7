"""Intervals by the bootstrap over slides."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from tessera.evaluation.classification import score_classes
from tessera.evaluation.metrics.bootstrap import compute_intervals, draw_resamples
from tessera.evaluation.metrics.division import divide
from tessera.evaluation.metrics.estimates import select_metric
from tessera.evaluation.samples import ClassSamples, ScoredClasses

ONE = ScoredClasses(names=("other", "tumour"), columns=("tumour",), threshold=0.5)


def draw_slides(number: int, tiles: int) -> list[ClassSamples]:
    random = np.random.default_rng(1)
    found = []
    for _ in range(number):
        truth = (random.random(tiles) < random.uniform(0.2, 0.8)).astype(np.intp)
        scores = np.clip(0.3 + 0.3 * truth + random.normal(0, 0.25, tiles), 0, 1)
        found.append(ClassSamples(scores=scores[:, None].astype(np.float32), truth=truth, areas=np.ones(tiles)))
    return found


def test_each_resample_is_as_large_as_the_set() -> None:
    weights = draw_resamples(7, seed=0)
    assert weights.shape == (2_000, 7)
    assert (weights.sum(axis=1) == 7).all()


def test_interval_of_a_mean_is_near_that_of_theory() -> None:
    values = np.random.default_rng(0).normal(10, 2, 400)
    tallies = np.stack([values, np.ones(400)], axis=1)
    weights = draw_resamples(400, seed=3)
    found = compute_intervals(weights, tallies, lambda sums: {("mean", ""): divide(sums[..., 0], sums[..., 1])})
    half = NormalDist().inv_cdf(0.975) * values.std() / 20
    assert found["mean", ""] == pytest.approx((values.mean() - half, values.mean() + half), rel=0.01)


def test_metric_that_most_resamples_lack_has_no_interval() -> None:
    tallies = np.array([[1.0], [0.0], [0.0], [0.0]])
    found = compute_intervals(
        draw_resamples(4, seed=0), tallies, lambda sums: {("x", ""): divide(sums[..., 0], sums[..., 0])}
    )
    assert found == {}


def test_equal_seeds_give_equal_intervals() -> None:
    slides = draw_slides(6, 200)
    one, same, other = (score_classes(slides, ONE, ordinal=False, seed=seed).estimates for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_one_slide_has_values_and_no_interval() -> None:
    found = score_classes(draw_slides(1, 100), ONE, ordinal=False, seed=0).estimates
    assert all(one.low is None and one.high is None for one in found)
    assert all(one.value == one.mean_of_slides for one in found)


def test_intervals_hold_the_value_and_that_of_rounded_ranks_is_the_exact_one() -> None:
    slides = draw_slides(12, 2_000)
    found = score_classes(slides, ONE, ordinal=False, seed=0)
    for one in found.estimates:
        assert None not in (one.value, one.low, one.high)
        assert one.low <= one.value <= one.high  # pyright: ignore[reportOptionalOperand]
    auc = select_metric(found.estimates, "auc", "tumour")
    assert auc is not None
    weights = draw_resamples(12, seed=0)[:200]  # each resample's AUC anew, of all its tiles
    exact = []
    for weight in weights:
        drawn = [slide for slide, times in zip(slides, weight, strict=True) for _ in range(int(times))]
        alone = score_classes(
            [
                ClassSamples(
                    scores=np.concatenate([slide.scores for slide in drawn]),
                    truth=np.concatenate([slide.truth for slide in drawn]),
                )
            ],
            ONE,
            ordinal=False,
            seed=0,
        )
        exact.append(alone.of_slides[0]["auc", "tumour"])
    assert np.quantile(exact, [0.025, 0.975]) == pytest.approx([auc.low, auc.high], abs=0.004)


def test_perfect_prediction_scores_1_and_the_first_of_equal_columns_wins() -> None:
    classes = ScoredClasses(names=("a", "b"), columns=("a", "b"), threshold=0.5)
    truth = np.array([0, 1, 1], np.intp)
    perfect = ClassSamples(scores=np.eye(2, dtype=np.float32)[truth], truth=truth, areas=np.ones(3))
    found = score_classes([perfect, perfect], classes, ordinal=True, seed=0)
    values = {one.metric: one.value for one in found.estimates if one.metric != "calibration_error"}
    assert set(values.values()) == {1.0}
    assert classes.choose_classes(np.array([[0.5, 0.5]], np.float32)).tolist() == [0]
