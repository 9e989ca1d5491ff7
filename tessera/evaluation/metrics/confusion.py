"""Metrics of a confusion matrix: rows are true classes, columns are predicted ones.

Sources: Cohen 1960 and 1968 for kappa and its weights, Brodersen 2010 for balanced accuracy. A class that is absent
from the truth has no recall and is left out of the means.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tessera.evaluation.metrics.division import Key, Values, compute_defined_mean, divide


def count_confusion(
    truth: NDArray[np.intp], predicted: NDArray[np.intp], classes: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return [classes, classes], the number or the summed weight of the samples of each pair."""
    counted = np.bincount(truth * classes + predicted, weights, minlength=classes * classes)
    return counted.reshape(classes, classes).astype(np.float64)


def compute_confusion_metrics(counts: NDArray[np.float64], names: Sequence[str], *, ordinal: bool = False) -> Values:
    """Return the metrics of matrices [..., classes, classes], each of the shape [...]. With `ordinal`, the order of
    the classes is a scale, and kappa is also weighted by squared distances on it."""
    hits = np.diagonal(counts, axis1=-2, axis2=-1)
    truth, predicted, total = counts.sum(-1), counts.sum(-2), counts.sum((-1, -2))
    recall, precision, f1 = divide(hits, truth), divide(hits, predicted), divide(2 * hits, truth + predicted)
    found: dict[Key, NDArray[np.float64]] = {
        ("accuracy", ""): divide(hits.sum(-1), total),
        ("balanced_accuracy", ""): compute_defined_mean(recall),
        ("f1_macro", ""): compute_defined_mean(f1),
        ("kappa", ""): _compute_kappa(counts, 1 - np.eye(len(names))),
    }
    if ordinal:
        places = np.arange(len(names))
        found["kappa_quadratic", ""] = _compute_kappa(counts, (places[:, None] - places) ** 2)
    for number, name in enumerate(names):
        found["precision", name] = precision[..., number]
        found["recall", name] = recall[..., number]
        found["f1", name] = f1[..., number]
    return found


def compute_area_metrics(areas: NDArray[np.float64], names: Sequence[str]) -> Values:
    """Return Dice and Jaccard of each class from matrices [..., classes, classes] of areas."""
    hits = np.diagonal(areas, axis1=-2, axis2=-1)
    both = areas.sum(-1) + areas.sum(-2)
    dice, jaccard = divide(2 * hits, both), divide(hits, both - hits)
    found: dict[Key, NDArray[np.float64]] = {}
    for number, name in enumerate(names):
        found["dice", name] = dice[..., number]
        found["jaccard", name] = jaccard[..., number]
    return found


def _compute_kappa(counts: NDArray[np.float64], costs: NDArray[np.floating | np.integer]) -> NDArray[np.float64]:
    """Return 1 - cost of what is observed / cost of what independent raters with the same margins would give."""
    expected = divide(
        counts.sum(-1)[..., :, None] * counts.sum(-2)[..., None, :], counts.sum((-1, -2))[..., None, None]
    )
    return 1 - divide((counts * costs).sum((-1, -2)), (expected * costs).sum((-1, -2)))
