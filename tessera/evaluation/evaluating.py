"""Evaluates a set of results against its truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tessera.evaluation.choices import Task
from tessera.evaluation.object_task import evaluate_objects
from tessera.evaluation.options import Evaluation, EvaluationOptions, LeftOutName
from tessera.evaluation.pairing import pair_names
from tessera.evaluation.result_folders import find_results
from tessera.evaluation.slide_task import evaluate_slides
from tessera.evaluation.tile_task import Pair, evaluate_tiles
from tessera.evaluation.truth.files import find_truth
from tessera.local_run.inputs import UsageError

_TASKS = {Task.TILES: evaluate_tiles, Task.SLIDES: evaluate_slides, Task.OBJECTS: evaluate_objects}


def evaluate_results(
    paths: Sequence[Path],
    truth: Path,
    options: EvaluationOptions,
    *,
    model: str | None = None,
    task: Task | None = None,
    begin: Callable[[int], Callable[[str], None]],
) -> Evaluation:
    """Return the evaluation. Every result and every truth is in it or among its `left_out`. `begin` gets the number of
    slides, and returns what gets the name of each as it begins. Raises UsageError."""
    results = find_results(paths, model)
    truths = find_truth(truth)
    paired = pair_names([one.name for one in results], list(truths))
    pairs: list[Pair] = [(one, truths[paired.truth_of[one.name]]) for one in results if one.name in paired.truth_of]
    left_out = [LeftOutName(name=name, reason="there is no truth of this name") for name in paired.results_alone]
    left_out += [LeftOutName(name=name, reason="there is no result of this name") for name in paired.truths_alone]
    if not pairs:
        raise UsageError(
            f"No truth is named like a result. Results are named {_list_some([one.name for one in results])}; truths "
            f"are named {_list_some(list(truths))}"
        )
    chosen = _choose_task(pairs, task)
    evaluation, more = _TASKS[chosen](pairs, options, begin(len(pairs)))
    return replace(evaluation, left_out=(*left_out, *more))


def _choose_task(pairs: Sequence[Pair], asked: Task | None) -> Task:
    """Return the task that the truth allows: labels of slides or tiles, objects where results have some, else tiles."""
    one = pairs[0][1]
    if one.outlines is None:
        fixed = Task.TILES if one.tiles is not None else Task.SLIDES
        if asked not in (None, fixed):
            raise UsageError(f"The truth is labels of {fixed.value}; --task {asked.value} needs another")
        return fixed
    if asked is Task.SLIDES:
        raise UsageError("--task slides needs a CSV with the columns slide and label")
    if asked is not None:
        return asked
    return Task.OBJECTS if any(result.objects is not None for result, _ in pairs) else Task.TILES


def _list_some(names: Sequence[str]) -> str:
    some = ", ".join(name or "(none)" for name in names[:3])
    return f"{some}, …" if len(names) > 3 else some
