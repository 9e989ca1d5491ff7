"""Confidence intervals by the bootstrap over slides: whole slides are drawn, since tiles of a slide are alike.

Each resample is as many slides as there are, drawn with replacement; an interval is the middle 95 % of the resamples'
values (percentile bootstrap, Efron 1979).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tessera.evaluation.metrics.division import Key, Values

RESAMPLES: Final = 2_000
LEVEL: Final = 0.95
FEW_SLIDES: Final = 10  #: below, percentile intervals are known to be too narrow
LEAST_DEFINED: Final = 0.95  #: share of the resamples that must have a value; else there is no interval
_CHUNK: Final = 250  #: resamples that are in memory at once

Intervals = dict[Key, tuple[float, float]]


def draw_resamples(slides: int, *, seed: int, resamples: int = RESAMPLES) -> NDArray[np.float64]:
    """Return [resamples, slides], how often each slide is in each resample."""
    chances = np.full(slides, 1 / slides)
    return np.random.default_rng(seed).multinomial(slides, chances, size=resamples).astype(np.float64)


def compute_intervals(
    weights: NDArray[np.float64], tallies: NDArray[np.float64], compute: Callable[[NDArray[np.float64]], Values]
) -> Intervals:
    """Return the interval of each metric that `compute` gives for sums of `tallies`, [slides, ...]. Metrics that are
    undefined in too many resamples have none."""
    flat = tallies.reshape(len(tallies), -1)
    parts: dict[Key, list[NDArray[np.float64]]] = {}
    for begin in range(0, len(weights), _CHUNK):
        sums = weights[begin : begin + _CHUNK] @ flat
        for key, values in compute(sums.reshape(-1, *tallies.shape[1:])).items():
            parts.setdefault(key, []).append(values)
    found = {key: _find_interval(np.concatenate(values)) for key, values in parts.items()}
    return {key: interval for key, interval in found.items() if interval is not None}


def _find_interval(values: NDArray[np.float64]) -> tuple[float, float] | None:
    defined = values[~np.isnan(values)]
    if len(defined) < LEAST_DEFINED * len(values):
        return None
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
