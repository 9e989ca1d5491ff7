"""Prints an evaluation as tables."""

from __future__ import annotations

from collections import defaultdict

from rich import box
from rich.console import Console
from rich.table import Table

from tessera.evaluation.choices import Task
from tessera.evaluation.metrics.estimates import MetricEstimate
from tessera.evaluation.options import Evaluation
from tessera.terminal import escape_text

_TITLES = {Task.TILES: "tiles", Task.SLIDES: "slides", Task.OBJECTS: "objects"}
_MOST_LEFT_OUT = 20  #: names that are printed; evaluation.json has all


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """Print the metrics of all classes together, then a row for each class, then what was left out and the notes."""
    number = len(evaluation.slides)
    slides = f"{number:,} slide{'s' if number != 1 else ''}"
    console.print(f"{evaluation.model['name']}: {_TITLES[evaluation.task]} of {slides} compared", markup=False)
    overall = [one for one in evaluation.estimates if not one.class_name]
    if overall:
        console.print(_make_table(overall))
    if any(one.class_name for one in evaluation.estimates):
        console.print(_make_class_table(evaluation.estimates))
    for one in evaluation.left_out[:_MOST_LEFT_OUT]:
        console.print(f"not evaluated: {one.name}: {one.reason}", markup=False, soft_wrap=True)
    if len(evaluation.left_out) > _MOST_LEFT_OUT:
        console.print(f"not evaluated: {len(evaluation.left_out) - _MOST_LEFT_OUT:,} more, listed in evaluation.json")
    for note in evaluation.notes:
        console.print(note, markup=False, soft_wrap=True)


def _make_table(estimates: list[MetricEstimate]) -> Table:
    table = Table("metric", box=box.SIMPLE_HEAD)
    for name in ("value", "95 % interval", "mean of slides"):
        table.add_column(name, justify="right")
    for one in estimates:
        table.add_row(one.metric, _show(one.value), _show_interval(one), _show(one.mean_of_slides))
    return table


def _make_class_table(estimates: tuple[MetricEstimate, ...]) -> Table:
    by_class: dict[str, dict[str, MetricEstimate]] = defaultdict(dict)
    for one in estimates:
        if one.class_name:
            by_class[one.class_name][one.metric] = one
    metrics = list(dict.fromkeys(metric for row in by_class.values() for metric in row))
    table = Table("metric", box=box.SIMPLE_HEAD)
    for name in by_class:
        table.add_column(escape_text(name), justify="right")
    for metric in metrics:
        table.add_row(metric, *(_show_with_interval(row.get(metric)) for row in by_class.values()))
    return table


def _show(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _show_interval(one: MetricEstimate) -> str:
    return "" if one.low is None else f"{_show(one.low)} to {_show(one.high)}"


def _show_with_interval(one: MetricEstimate | None) -> str:
    if one is None or one.value is None:
        return ""
    return f"{_show(one.value)} ({_show_interval(one)})" if one.low is not None else _show(one.value)
