"""Calibration: whether a share p of the samples that score p belong to the class. For scores from 0 to 1."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tessera.evaluation.metrics.division import divide

BINS: Final = 10  #: of equal width


def count_bins(scores: NDArray[np.float32], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return [3, BINS]: samples, the sum of their scores, and how many of them are chosen."""
    bins = np.minimum((scores * BINS).astype(np.intp), BINS - 1)
    sums = (np.bincount(bins, weights, minlength=BINS) for weights in (None, scores, chosen))
    return np.array([one.astype(np.float64) for one in sums])


def are_probabilities(scores: NDArray[np.float32]) -> bool:
    """Return whether all scores are from 0 to 1."""
    return bool(((scores >= 0) & (scores <= 1)).all())


def compute_calibration_error(bins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean distance of score and share over the samples of [..., 3, BINS] (expected calibration error)."""
    samples, scores, chosen = (bins[..., row, :] for row in range(3))
    return divide(np.abs(scores - chosen).sum(-1), samples.sum(-1))
