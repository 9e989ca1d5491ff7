"""Metrics of matched objects from counts, which add up over slides.

Panoptic quality is detection quality times segmentation quality (Kirillov 2019): F1, times the mean IoU of the matched
pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tessera.evaluation.metrics.division import Key, Values, compute_defined_mean, divide

_OVER_CLASSES = ("f1", "pq", "f1_distance")  #: metrics of which the mean over the classes is a metric too


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectCounts:
    """Counts of one slide and class."""

    matched: float = 0  #: true positives
    extra: float = 0  #: found objects without a partner: false positives
    missed: float = 0  #: true objects without a partner: false negatives
    iou: float = 0  #: summed over the matched pairs
    found_area: float = 0  #: um², of all found objects together
    true_area: float = 0
    both_area: float = 0
    matched_near: float = 0  #: as the first three, by distance
    extra_near: float = 0
    missed_near: float = 0


_NAMES = tuple(field.name for field in fields(ObjectCounts))


def stack_counts(counts: Sequence[Mapping[str, ObjectCounts]], names: Sequence[str]) -> NDArray[np.float64]:
    """Return [slides, classes, fields]; zeros for a class that a slide does not have."""
    none = ObjectCounts()
    return np.array([[astuple(slide.get(name, none)) for name in names] for slide in counts], np.float64)


def compute_object_metrics(
    sums: NDArray[np.float64], names: Sequence[str], *, outlines: bool, by_distance: bool
) -> Values:
    """Return the metrics of sums [..., classes, fields]; "" among the names is of all classes. Without `outlines` the
    truth is points, and nothing of areas is known."""
    part = {name: sums[..., number] for number, name in enumerate(_NAMES)}
    metrics: dict[str, NDArray[np.float64]] = {}
    if outlines:
        matched, extra, missed = part["matched"], part["extra"], part["missed"]
        detection, segmentation = _compute_f1(matched, extra, missed), divide(part["iou"], matched)
        metrics |= {
            "precision": divide(matched, matched + extra),
            "recall": divide(matched, matched + missed),
            "f1": detection,
            "mean_iou": segmentation,
            "pq": np.where(matched > 0, detection * np.nan_to_num(segmentation), detection),
            "dice": divide(2 * part["both_area"], part["found_area"] + part["true_area"]),
        }
    if by_distance:
        matched, extra, missed = part["matched_near"], part["extra_near"], part["missed_near"]
        metrics |= {
            "precision_distance": divide(matched, matched + extra),
            "recall_distance": divide(matched, matched + missed),
            "f1_distance": _compute_f1(matched, extra, missed),
        }
    found: dict[Key, NDArray[np.float64]] = {}
    for number, name in enumerate(names):
        found |= {(metric, name): values[..., number] for metric, values in metrics.items()}
    of_classes = [number for number, name in enumerate(names) if name]
    if of_classes:
        for metric in _OVER_CLASSES:
            if metric in metrics:
                found[f"{metric}_macro", ""] = compute_defined_mean(metrics[metric][..., of_classes])
    return found


def _compute_f1(
    matched: NDArray[np.float64], extra: NDArray[np.float64], missed: NDArray[np.float64]
) -> NDArray[np.float64]:
    return divide(2 * matched, 2 * matched + extra + missed)
