"""The value of a metric over a set of slides, with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tessera.evaluation.metrics.bootstrap import Intervals
from tessera.evaluation.metrics.division import Key

SlideMetrics = dict[Key, float]  #: of one slide; NaN: undefined


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricEstimate:
    metric: str
    class_name: str  #: "": of all classes
    value: float | None  #: of all slides' samples together; None: undefined
    low: float | None = None  #: end of the 95 % interval; None: none is known
    high: float | None = None
    mean_of_slides: float | None = None  #: over the slides for which it is defined
    slides: int = 0  #: for which it is defined


def combine_estimates(
    pooled: SlideMetrics, of_slides: Sequence[SlideMetrics], intervals: Intervals
) -> tuple[MetricEstimate, ...]:
    """Return an estimate of each pooled metric, in their order."""
    found: list[MetricEstimate] = []
    for (metric, class_name), value in pooled.items():
        key = metric, class_name
        defined = [one for slide in of_slides if (one := state_defined(slide.get(key, math.nan))) is not None]
        low, high = intervals.get(key, (None, None))
        found.append(
            MetricEstimate(
                metric=metric,
                class_name=class_name,
                value=state_defined(value),
                low=low,
                high=high,
                mean_of_slides=float(np.mean(defined)) if defined else None,
                slides=len(defined),
            )
        )
    return tuple(found)


def state_defined(value: float) -> float | None:
    """Return the value, or None where it is undefined."""
    return None if math.isnan(value) else float(value)


def as_floats(values: Mapping[Key, np.ndarray]) -> SlideMetrics:
    """Return metrics of one slide or set as plain numbers."""
    return {key: float(value) for key, value in values.items()}


def select_metric(estimates: Iterable[MetricEstimate], metric: str, class_name: str = "") -> MetricEstimate | None:
    """Return the estimate of that name, or None."""
    return next((one for one in estimates if (one.metric, one.class_name) == (metric, class_name)), None)
