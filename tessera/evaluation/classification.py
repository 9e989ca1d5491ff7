"""Metrics of classes over a set of slides, pooled, of each slide, and with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tessera.evaluation.metrics.bootstrap import Intervals, compute_intervals, draw_resamples
from tessera.evaluation.metrics.calibration import are_probabilities, compute_calibration_error, count_bins
from tessera.evaluation.metrics.confusion import compute_area_metrics, compute_confusion_metrics, count_confusion
from tessera.evaluation.metrics.division import Key, Values, compute_defined_mean
from tessera.evaluation.metrics.estimates import MetricEstimate, SlideMetrics, as_floats, combine_estimates
from tessera.evaluation.metrics.ranking import (
    RankingCurves,
    compute_auc,
    compute_average_precision,
    count_groups,
    group_scores,
    make_curves,
)
from tessera.evaluation.samples import ClassSamples, ScoredClasses

#: Groups of scores in a resample: with more different scores, an interval of a ranking metric is that of scores rounded
#: to so many ranks. Values themselves are never rounded.
RANKS: Final = 4_096


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ClassificationScores:
    estimates: tuple[MetricEstimate, ...]
    of_slides: tuple[SlideMetrics, ...]
    confusion: NDArray[np.float64]  #: [true, predicted] samples
    confusion_of_slides: NDArray[np.float64]  #: [slides, true, predicted]
    curves: dict[str, RankingCurves]  #: by class
    calibration: dict[str, NDArray[np.float64]]  #: by class, [3, bins]; empty where scores are no probabilities


def score_classes(
    samples: Sequence[ClassSamples], classes: ScoredClasses, *, ordinal: bool, seed: int, by_slide: bool = True
) -> ClassificationScores:
    """Return the metrics of all slides' samples. Intervals need two slides. `by_slide` is False where a slide is one
    sample, of which no metric can be told."""
    counts, areas = _count_matrices(samples, classes)
    pooled = ClassSamples(
        scores=np.concatenate([one.scores for one in samples]), truth=np.concatenate([one.truth for one in samples])
    )
    calibrated = are_probabilities(pooled.scores)

    def compute_of_matrices(sums: NDArray[np.float64]) -> Values:
        found = dict(compute_confusion_metrics(sums[..., 0, :, :], classes.names, ordinal=ordinal))
        return found if areas is None else found | compute_area_metrics(sums[..., 1, :, :], classes.names)

    matrices = np.stack([counts, counts if areas is None else areas], axis=1)
    values = as_floats(compute_of_matrices(matrices.sum(0))) | _rank(pooled, classes, calibrated=calibrated)
    of_slides = tuple(
        as_floats(compute_of_matrices(matrix)) | _rank(one, classes, calibrated=calibrated)
        for matrix, one in zip(matrices, samples, strict=True)
    )
    intervals: Intervals = {}
    if len(samples) > 1:
        weights = draw_resamples(len(samples), seed=seed)
        intervals = compute_intervals(weights, matrices, compute_of_matrices)
        intervals |= _compute_rank_intervals(weights, samples, pooled, classes, calibrated=calibrated)
    positives = {classes.names[number]: (number, column) for number, column in classes.list_scored()}
    return ClassificationScores(
        estimates=combine_estimates(values, of_slides if by_slide else (), intervals),
        of_slides=of_slides,
        confusion=counts.sum(0),
        confusion_of_slides=counts,
        curves={name: make_curves(*_count_ranks(pooled, *place)) for name, place in positives.items()},
        calibration={
            name: count_bins(pooled.scores[:, column], pooled.truth == number)
            for name, (number, column) in positives.items()
            if calibrated
        },
    )


def _count_matrices(
    samples: Sequence[ClassSamples], classes: ScoredClasses
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return [slides, true, predicted] of samples, and of their areas where they have some."""
    size = len(classes.names)
    predicted = [classes.choose_classes(one.scores) for one in samples]
    pairs = list(zip(samples, predicted, strict=True))
    counts = np.array([count_confusion(one.truth, guess, size) for one, guess in pairs])
    if any(one.areas is None for one in samples):
        return counts, None
    return counts, np.array([count_confusion(one.truth, guess, size, one.areas) for one, guess in pairs])


def _count_ranks(one: ClassSamples, number: int, column: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    groups, size = group_scores(one.scores[:, column])
    chosen = one.truth == number
    return count_groups(groups, size, chosen), count_groups(groups, size, ~chosen)


def _rank(one: ClassSamples, classes: ScoredClasses, *, calibrated: bool) -> SlideMetrics:
    """Return the exact metrics of the order of scores."""
    found: dict[Key, NDArray[np.float64]] = {}
    for number, column in classes.list_scored():
        counts = _count_ranks(one, number, column)
        _add_rank_metrics(found, classes.names[number], *counts)
        if calibrated:
            bins = count_bins(one.scores[:, column], one.truth == number)
            found["calibration_error", classes.names[number]] = compute_calibration_error(bins)
    return as_floats(_with_means(found, classes))


def _add_rank_metrics(
    found: dict[Key, NDArray[np.float64]], name: str, positives: NDArray[np.float64], negatives: NDArray[np.float64]
) -> None:
    found["auc", name] = compute_auc(positives, negatives)
    found["average_precision", name] = compute_average_precision(positives, negatives)


def _with_means(found: dict[Key, NDArray[np.float64]], classes: ScoredClasses) -> Values:
    """Add the means over classes, for several columns."""
    if classes.is_single:
        return found
    for metric in ("auc", "average_precision"):
        every = np.stack([value for (name, _), value in found.items() if name == metric], axis=-1)
        found[f"{metric}_macro", ""] = compute_defined_mean(every)
    return found


def _compute_rank_intervals(
    weights: NDArray[np.float64],
    samples: Sequence[ClassSamples],
    pooled: ClassSamples,
    classes: ScoredClasses,
    *,
    calibrated: bool,
) -> Intervals:
    intervals: Intervals = {}
    ends = np.cumsum([len(one) for one in samples])[:-1]
    of_classes: list[NDArray[np.float64]] = []  # each [slides, 2, ranks]
    for number, column in classes.list_scored():
        groups, size = group_scores(pooled.scores[:, column], RANKS)
        chosen = pooled.truth == number
        pairs = zip(np.split(groups, ends), np.split(chosen, ends), strict=True)
        of_classes.append(
            np.array([[count_groups(one, size, which), count_groups(one, size, ~which)] for one, which in pairs])
        )
        if calibrated:
            bins = np.array([count_bins(one.scores[:, column], one.truth == number) for one in samples])
            key = "calibration_error", classes.names[number]
            intervals |= compute_intervals(weights, bins, lambda sums, key=key: {key: compute_calibration_error(sums)})
    sizes = np.cumsum([one.shape[-1] for one in of_classes])[:-1]
    names = [classes.names[number] for number, _ in classes.list_scored()]

    def compute(sums: NDArray[np.float64]) -> Values:
        found: dict[Key, NDArray[np.float64]] = {}
        for name, counts in zip(names, np.split(sums, sizes, axis=-1), strict=True):
            _add_rank_metrics(found, name, counts[..., 0, :], counts[..., 1, :])
        return _with_means(found, classes)

    return intervals | compute_intervals(weights, np.concatenate(of_classes, axis=-1), compute)
