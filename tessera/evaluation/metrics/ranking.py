"""Metrics of the order of scores: ROC and precision-recall.

Samples of equal score are one group, and so one point of a curve: ties count half in the area under the ROC curve
(midranks, Mann-Whitney), and average precision does not depend on the order of rows. Counts are [..., groups], groups
in ascending order of score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tessera.evaluation.metrics.division import divide


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RankingCurves:
    """Points in descending order of the threshold."""

    false_positive_rate: NDArray[np.float64]  #: [groups + 1], begins with 0
    recall: NDArray[np.float64]  #: [groups + 1], begins with 0
    precision: NDArray[np.float64]  #: [groups + 1], of nothing predicted: that of the first group


def group_scores(scores: NDArray[np.float32], most: int | None = None) -> tuple[NDArray[np.intp], int]:
    """Return the group of each score, and the number of groups. With more than `most` different scores, neighbours
    share a group so that groups have about equal size."""
    values, places = np.unique(scores, return_inverse=True)
    if most is None or len(values) <= most:
        return places, len(values)
    ends = np.cumsum(np.bincount(places))
    return ((ends - 1) * most // len(scores))[places], most


def count_groups(groups: NDArray[np.intp], number: int, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return [number], how many of the chosen samples are in each group."""
    return np.bincount(groups[chosen], minlength=number).astype(np.float64)


def compute_auc(positives: NDArray[np.float64], negatives: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the chance that a positive sample scores higher than a negative one. NaN without both."""
    below = np.cumsum(negatives, axis=-1) - negatives
    return divide((positives * (below + negatives / 2)).sum(-1), positives.sum(-1) * negatives.sum(-1))


def compute_average_precision(positives: NDArray[np.float64], negatives: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean precision over the steps of recall, without interpolation. NaN without positives."""
    hits = np.flip(positives, -1)
    reached = np.cumsum(hits, axis=-1)
    precision = np.nan_to_num(divide(reached, reached + np.cumsum(np.flip(negatives, -1), axis=-1)))
    return divide((precision * hits).sum(-1), positives.sum(-1))


def make_curves(positives: NDArray[np.float64], negatives: NDArray[np.float64]) -> RankingCurves:
    """Return the curves of counts [groups]."""
    hits, alarms = np.cumsum(positives[::-1]), np.cumsum(negatives[::-1])
    precision = divide(hits, hits + alarms)
    return RankingCurves(
        false_positive_rate=np.concatenate([[0.0], divide(alarms, negatives.sum())]),
        recall=np.concatenate([[0.0], divide(hits, positives.sum())]),
        precision=np.concatenate([precision[:1], precision]),
    )
