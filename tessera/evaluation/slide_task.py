"""Evaluates one score for each slide against labels of slides."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tessera.evaluation.choices import SlideScore, Task
from tessera.evaluation.class_names import choose_columns, resolve_classes
from tessera.evaluation.classification import score_classes
from tessera.evaluation.options import EvaluatedSlide, Evaluation, EvaluationOptions, LeftOutName
from tessera.evaluation.result_folders import ResultFolder, SlideLeftOut, compute_file_sha256
from tessera.evaluation.samples import ClassSamples
from tessera.evaluation.tile_task import (
    Pair,
    TileTable,
    describe_model,
    note_intervals,
    read_tiles,
    refuse_without_slides,
)


def evaluate_slides(
    pairs: Sequence[Pair], options: EvaluationOptions, on_slide: Callable[[str], None]
) -> tuple[Evaluation, list[LeftOutName]]:
    """Return the evaluation, and the slides that could not be evaluated. Raises UsageError if none could."""
    columns = choose_columns(pairs[0][0].columns, options.columns)
    read: list[tuple[ResultFolder, str, TileTable]] = []
    left_out: list[LeftOutName] = []
    for result, truth in pairs:
        on_slide(result.name)
        assert truth.label is not None
        try:
            read.append((result, truth.label, read_tiles(result, columns)))
        except SlideLeftOut as error:
            left_out.append(LeftOutName(name=result.name, reason=error.sentence))
    refuse_without_slides(read, left_out)
    classes, number_of = resolve_classes(
        {label for _, label, _ in read},
        columns,
        mapped=options.mapped,
        ignored=options.ignored,
        threshold=options.threshold,
    )
    kept: list[tuple[ResultFolder, str, TileTable]] = []
    samples: list[ClassSamples] = []
    for result, label, table in read:
        number = number_of[label]
        if number is None:
            left_out.append(LeftOutName(name=result.name, reason=f"its label, {label}, is one of --ignore"))
            continue
        kept.append((result, label, table))
        scores = summarise_scores(table.scores, options.slide_score, options.tile_threshold)
        samples.append(ClassSamples(scores=scores[None], truth=np.array([number], np.intp)))
    refuse_without_slides(kept, left_out)
    found = score_classes(samples, classes, ordinal=options.ordinal, seed=options.seed, by_slide=False)
    digest = compute_file_sha256(pairs[0][1].source)
    slides = [
        EvaluatedSlide(
            name=result.name,
            digest=result.summary["slide"].get("digest"),
            inputs={**table.inputs, pairs[0][1].source.name: digest},
            counts={
                "tiles": len(table.boxes),
                "label": label,
                "true": classes.names[sample.truth[0]],
                "predicted": classes.names[classes.choose_classes(sample.scores)[0]],
            },
            metrics={
                ("score", name): float(score) for name, score in zip(classes.columns, sample.scores[0], strict=True)
            },
        )
        for (result, label, table), sample in zip(kept, samples, strict=True)
    ]
    return Evaluation(
        task=Task.SLIDES,
        model=describe_model(kept[0][0]),
        classes=classes.names,
        estimates=found.estimates,
        slides=tuple(slides),
        notes=note_intervals(len(slides)),
        has_intervals=len(slides) > 1,
        confusion=found.confusion,
        confusion_classes=classes.names,
        curves=found.curves,
        calibration=found.calibration,
    ), left_out


def summarise_scores(
    scores: NDArray[np.float32], slide_score: SlideScore, tile_threshold: float
) -> NDArray[np.float32]:
    """Return one score for each column of [tiles, columns]."""
    match slide_score:
        case SlideScore.MEAN:
            found = scores.mean(axis=0, dtype=np.float64)
        case SlideScore.MAX:
            found = scores.max(axis=0)
        case SlideScore.TOP10:
            most = math.ceil(len(scores) / 10)
            found = np.sort(scores, axis=0)[-most:].mean(axis=0, dtype=np.float64)
        case SlideScore.SHARE:
            found = (scores >= tile_threshold).mean(axis=0)
    return found.astype(np.float32)
