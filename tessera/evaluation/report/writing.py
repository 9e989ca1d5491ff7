"""Writes evaluation.json, evaluation.csv and the drawings. The same inputs and options give the same bytes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from tessera.evaluation.metrics.bootstrap import LEVEL, RESAMPLES
from tessera.evaluation.metrics.estimates import state_defined
from tessera.evaluation.options import Evaluation, EvaluationOptions
from tessera.evaluation.report.confusion_drawing import draw_confusion
from tessera.evaluation.report.curve_drawing import draw_calibration, draw_precision_recall, draw_roc
from tessera.local_run.inputs import UsageError
from wsi.replacing import replace_file
from wsi.results.csv_text import quote_cells

JSON: Final = "evaluation.json"
CSV: Final = "evaluation.csv"
SCHEMA: Final = 1
ALL_SLIDES: Final = "(all)"  #: in the table's column of slides
_HEADER: Final = ("slide", "metric", "class", "value", "low", "high")


def write_evaluation(evaluation: Evaluation, options: EvaluationOptions, folder: Path) -> tuple[str, ...]:
    """Write all files into the folder, which is made, and return their names. Raises UsageError."""
    texts = {
        CSV: write_table(evaluation),
        **draw_evaluation(evaluation),
        JSON: json.dumps(describe_evaluation(evaluation, options), indent=2, ensure_ascii=False, allow_nan=False)
        + "\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            partial = folder / f"{name}.partial"
            partial.write_text(text, encoding="utf-8", newline="")
            replace_file(partial, folder / name)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
    return tuple(texts)


def describe_evaluation(evaluation: Evaluation, options: EvaluationOptions) -> dict[str, Any]:
    """Return the contents of evaluation.json."""
    interval: dict[str, Any] | None = None
    if evaluation.has_intervals:
        interval = {
            "method": "percentile bootstrap over slides",
            "level": LEVEL,
            "resamples": RESAMPLES,
            "seed": options.seed,
        }
    return {
        "schema": SCHEMA,
        "task": evaluation.task.value,
        "tessera": version("tessera-wsi"),
        "model": dict(evaluation.model),
        "options": {**asdict(options), "mapped": dict(options.mapped)},
        "classes": list(evaluation.classes),
        "interval": interval,
        "metrics": [
            {
                "metric": one.metric,
                "class": one.class_name or None,
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "mean_of_slides": one.mean_of_slides,
                "slides": one.slides,
            }
            for one in evaluation.estimates
        ],
        "confusion": _describe_confusion(evaluation.confusion_classes, evaluation.confusion),
        "calibration": {
            name: [{"samples": int(n), "score_sum": float(s), "of_class": int(c)} for n, s, c in bins.T]
            for name, bins in evaluation.calibration.items()
        },
        "slides": [
            {
                "name": slide.name,
                "digest": slide.digest,
                "inputs": dict(slide.inputs),
                "counts": dict(slide.counts),
                "metrics": [
                    {"metric": metric, "class": name or None, "value": state_defined(value)}
                    for (metric, name), value in slide.metrics.items()
                ],
                "confusion": _describe_confusion(evaluation.confusion_classes, slide.confusion),
            }
            for slide in evaluation.slides
        ],
        "left_out": [{"name": one.name, "reason": one.reason} for one in evaluation.left_out],
        "notes": list(evaluation.notes),
    }


def write_table(evaluation: Evaluation) -> str:
    """Return a CSV with a row for each metric of the set, then for each slide and metric. An undefined value is
    empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADER)
    writer.writerows(map(quote_cells, _list_rows(evaluation)))
    return text.getvalue()


def draw_evaluation(evaluation: Evaluation) -> Mapping[str, str]:
    """Return the drawings that the task has, by their files' names."""
    drawn: dict[str, str] = {}
    if evaluation.confusion is not None and evaluation.confusion.sum() > 0:
        drawn["confusion.svg"] = draw_confusion(evaluation.confusion_classes, evaluation.confusion)
    if evaluation.curves:
        drawn["roc.svg"] = draw_roc(evaluation.curves, evaluation.estimates)
        drawn["precision_recall.svg"] = draw_precision_recall(evaluation.curves, evaluation.estimates)
    if evaluation.calibration:
        drawn["calibration.svg"] = draw_calibration(evaluation.calibration, evaluation.estimates)
    return drawn


def _list_rows(evaluation: Evaluation) -> Iterator[tuple[object, ...]]:
    for one in evaluation.estimates:
        yield ALL_SLIDES, one.metric, one.class_name, *map(_write_number, (one.value, one.low, one.high))
    for slide in evaluation.slides:
        for (metric, name), value in slide.metrics.items():
            yield slide.name, metric, name, _write_number(state_defined(value)), "", ""


def _write_number(value: float | None) -> str:
    return "" if value is None else repr(value)


def _describe_confusion(names: tuple[str, ...], matrix: Any) -> dict[str, Any] | None:
    """Return the matrix by its rows; None where there is none."""
    if matrix is None:
        return None
    return {"classes": list(names), "true_by_predicted": [[int(number) for number in row] for row in matrix]}
