"""The options of an evaluation, and what comes out of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.evaluation.choices import SlideScore, Task, TileRule
from tessera.evaluation.metrics.estimates import MetricEstimate, SlideMetrics
from tessera.evaluation.metrics.ranking import RankingCurves
from wsi.records.outline import Frame


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationOptions:
    mapped: Mapping[str, str] = field(default_factory=dict[str, str])  #: class of the model by folded class of truth
    ignored: tuple[str, ...] = ()  #: classes of the truth
    columns: tuple[str, ...] = ()  #: of the model; empty: all
    within: str | None = None  #: class of the regions in which the truth is complete
    background: str | None = None  #: class of tiles outside of all regions
    tile_rule: TileRule = TileRule.OVERLAP
    least_share: float = 0.5  #: of a tile's area that its class covers
    threshold: float = 0.5  #: of a score, for a model of one column
    slide_score: SlideScore = SlideScore.MEAN
    tile_threshold: float = 0.5  #: of a tile's score, for SHARE
    iou: float = 0.5  #: least intersection over union of matched objects
    distance: float | None = None  #: um, farthest centroids of matched objects; None: not matched by distance
    any_class: bool = False  #: objects are compared without their classes
    split_parts: bool = False  #: each part of a feature is an object
    frame: Frame | None = None  #: what outlines count from; None: not stated
    ordinal: bool = False  #: the order of the classes is a scale
    seed: int = 0  #: of the resamples


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class EvaluatedSlide:
    name: str
    digest: str | None  #: of the slide, as the summary has it
    inputs: Mapping[str, str]  #: SHA-256 by the name of the file
    counts: Mapping[str, Any]  #: what was compared and what was left out
    metrics: SlideMetrics = field(default_factory=dict[tuple[str, str], float])
    confusion: NDArray[np.float64] | None = None  #: [true, predicted]


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOutName:
    """A result or a truth that was not evaluated."""

    name: str
    reason: str  #: one sentence


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Evaluation:
    task: Task
    model: Mapping[str, Any]  #: name, version and digest
    classes: tuple[str, ...]
    estimates: tuple[MetricEstimate, ...]
    slides: tuple[EvaluatedSlide, ...]
    left_out: tuple[LeftOutName, ...] = ()
    notes: tuple[str, ...] = ()  #: sentences on how far the numbers can be trusted
    has_intervals: bool = False
    confusion: NDArray[np.float64] | None = None  #: [true, predicted] of the set
    confusion_classes: tuple[str, ...] = ()
    curves: Mapping[str, RankingCurves] = field(default_factory=dict[str, RankingCurves])
    calibration: Mapping[str, NDArray[np.float64]] = field(default_factory=dict[str, "NDArray[np.float64]"])
