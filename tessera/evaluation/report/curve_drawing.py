"""ROC, precision-recall and calibration, drawn with a line for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tessera.evaluation.metrics.division import divide
from tessera.evaluation.metrics.estimates import MetricEstimate, select_metric
from tessera.evaluation.metrics.ranking import RankingCurves
from tessera.evaluation.report.axes import PlottedLine, draw_axes


def draw_roc(curves: Mapping[str, RankingCurves], estimates: Sequence[MetricEstimate]) -> str:
    """Return the ROC curves: each class against the rest."""
    lines = [
        PlottedLine(name=_name_line(name, "auc", "AUC", estimates), x=curve.false_positive_rate, y=curve.recall)
        for name, curve in curves.items()
    ]
    return draw_axes("ROC", "false positive rate", "true positive rate", lines, diagonal=True)


def draw_precision_recall(curves: Mapping[str, RankingCurves], estimates: Sequence[MetricEstimate]) -> str:
    """Return precision over recall in steps, as average precision counts it: the area below is that number."""
    lines = [
        PlottedLine(
            name=_name_line(name, "average_precision", "AP", estimates),
            x=np.repeat(curve.recall, 2)[1:-1],
            y=np.repeat(curve.precision[1:], 2),
        )
        for name, curve in curves.items()
    ]
    return draw_axes("Precision and recall", "recall", "precision", lines)


def draw_calibration(calibration: Mapping[str, NDArray[np.float64]], estimates: Sequence[MetricEstimate]) -> str:
    """Return the share of samples that are of the class over their score, a dot for each bin that has samples."""
    lines = [
        PlottedLine(
            name=_name_line(name, "calibration_error", "calibration error", estimates),
            x=divide(bins[1], bins[0]),
            y=divide(bins[2], bins[0]),
            dots=True,
        )
        for name, bins in calibration.items()
    ]
    return draw_axes("Calibration", "mean score", "share of the class", lines, diagonal=True)


def _name_line(name: str, metric: str, title: str, estimates: Sequence[MetricEstimate]) -> str:
    """Return "Tumor: AUC 0.912 (0.871 to 0.944)"."""
    one = select_metric(estimates, metric, name)
    if one is None or one.value is None:
        return f"{name}: no {title}"
    interval = "" if one.low is None else f" ({one.low:.3f} to {one.high:.3f})"
    return f"{name}: {title} {one.value:.3f}{interval}"
