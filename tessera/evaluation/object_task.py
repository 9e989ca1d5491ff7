"""Evaluates found objects against annotated ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from tessera.evaluation.choices import Task
from tessera.evaluation.class_names import match_classes, normalise_class
from tessera.evaluation.metrics.bootstrap import compute_intervals, draw_resamples
from tessera.evaluation.metrics.division import Values
from tessera.evaluation.metrics.estimates import as_floats, combine_estimates
from tessera.evaluation.objects.counting import ALL, CountedObjects, MatchingRule, ObjectSet, count_objects
from tessera.evaluation.objects.scores import ObjectCounts, compute_object_metrics, stack_counts
from tessera.evaluation.options import EvaluatedSlide, Evaluation, EvaluationOptions, LeftOutName
from tessera.evaluation.placing import place_outlines
from tessera.evaluation.result_folders import FULL_OBJECTS, ResultFolder, SlideLeftOut, compute_file_sha256
from tessera.evaluation.tile_task import Pair, describe_model, note_intervals, refuse_without_slides
from tessera.evaluation.truth.files import SlideTruth
from tessera.evaluation.truth.outlines import UNCLASSIFIED, TruthOutlines, read_outlines
from tessera.local_run.inputs import UsageError
from wsi.results.summary import NAME as SUMMARY

_MANY_WITHIN: Final = 20  #: objects in an outline, from which on it looks like a region
_NO_CLASS: Final = normalise_class(UNCLASSIFIED)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _CountedSlide:
    result: ResultFolder
    counted: CountedObjects
    inputs: Mapping[str, str]
    counts: dict[str, Any]
    outlines: bool  #: False: the truth is points
    names: tuple[str, ...]  #: folded names of the classes that are told apart
    found_names: frozenset[str]  #: as the result writes them
    true_names: Mapping[str, str]  #: as the truth writes them, by the folded name of the class that they are


def evaluate_objects(
    pairs: Sequence[Pair], options: EvaluationOptions, on_slide: Callable[[str], None]
) -> tuple[Evaluation, list[LeftOutName]]:
    """Return the evaluation, and the slides that could not be evaluated. Raises UsageError if none could."""
    read: list[_CountedSlide] = []
    left_out: list[LeftOutName] = []
    for result, truth in pairs:
        on_slide(result.name)
        try:
            read.append(_count_slide(result, truth, options))
        except SlideLeftOut as error:
            left_out.append(LeftOutName(name=result.name, reason=error.sentence))
    refuse_without_slides(read, left_out)
    known = _list_known_classes(read)
    _refuse_unknown_classes(read, known, options)
    names = sorted({name for one in read for name in one.names}) if any(one.true_names for one in read) else []
    spelled = {key: name for one in read for key, name in one.true_names.items()}
    spelled |= {normalise_class(name): name for name in known}
    keys, labels = (ALL, *names), (ALL, *(spelled[name] for name in names))
    outlines = all(one.outlines for one in read)
    counts = stack_counts([one.counted.by_class for one in read], keys)

    def compute(sums: NDArray[np.float64]) -> Values:
        return compute_object_metrics(sums, labels, outlines=outlines, by_distance=options.distance is not None)

    of_slides = [as_floats(compute(count)) for count in counts]
    several = len(read) > 1
    weights = draw_resamples(len(read), seed=options.seed)
    intervals = compute_intervals(weights, counts, compute) if several else {}
    confusion = [_spread_confusion(one, names) for one in read]
    slides = [
        EvaluatedSlide(
            name=one.result.name,
            digest=one.result.summary["slide"].get("digest"),
            inputs=one.inputs,
            counts=one.counts,
            metrics=metrics,
            confusion=matrix if names else None,
        )
        for one, metrics, matrix in zip(read, of_slides, confusion, strict=True)
    ]
    return Evaluation(
        task=Task.OBJECTS,
        model=describe_model(read[0].result),
        classes=labels[1:],
        estimates=combine_estimates(as_floats(compute(counts.sum(0))), of_slides, intervals),
        slides=tuple(slides),
        notes=(*note_intervals(len(slides)), *_note_objects(read, names, options)),
        has_intervals=several,
        confusion=np.sum(confusion, axis=0) if names else None,
        confusion_classes=labels[1:],
    ), left_out


def _count_slide(result: ResultFolder, truth: SlideTruth, options: EvaluationOptions) -> _CountedSlide:
    if truth.outlines is None:
        raise SlideLeftOut("objects are compared with outlines: give a file of GeoJSON")
    path = result.objects
    if path is None:
        raise SlideLeftOut("the result has no file of objects")
    inputs = {
        SUMMARY: compute_file_sha256(result.folder / SUMMARY),
        path.name: result.compute_digest(path),
        truth.outlines.name: compute_file_sha256(truth.outlines),
    }
    placed = place_outlines(result, truth, options)
    try:
        found = read_outlines(path, what="result")
    except UsageError as error:
        raise SlideLeftOut(f"{path.name} is damaged: run the slide again") from error
    if path.name != FULL_OBJECTS and result.corner is not None:
        found = found.move(*result.corner)
    true, has_points = placed.outlines, bool((shapely.get_type_id(placed.outlines.shapes) == 0).any())
    ignored = {normalise_class(name) for name in options.ignored}
    kept = np.array([normalise_class(name) not in ignored for name in true.classes], bool)
    true = true.select(kept)
    if has_points and options.distance is None:
        raise SlideLeftOut("the truth holds points: state with --distance how many um apart a pair may be")
    found_set, true_set = (
        ObjectSet(shapes=one.shapes, classes=np.array(_fold_classes(one, mapped), object))
        for one, mapped in ((found, {}), (true, options.mapped))
    )
    true_names = {key: name for key, name in zip(true_set.classes, true.classes, strict=True) if key != _NO_CLASS}
    names: list[str] = []
    if not options.any_class and (true_names or not len(true)):  # without classes, all is compared alike
        names = sorted({*true_names, *found_set.classes} - {_NO_CLASS})
    rule = MatchingRule(iou=None if has_points else options.iou, distance=options.distance, mpp=result.mpp)
    counted = count_objects(found_set, true_set, names, rule, placed.area)
    counts: dict[str, Any] = {
        "found": len(found),
        "true": len(true),
        "true_ignored": int((~kept).sum()),
        "true_off_slide": placed.outside,
        "true_left_out": dict(true.left_out),
        "true_repaired": true.repaired,
        "true_in_parts": true.in_parts,
        "found_beyond_truth": _count_beyond(found, true) if placed.area is None else 0,
        "true_like_regions": _count_like_regions(true),
        "by_class": {name or "all": _describe_counts(counted.by_class[name]) for name in (ALL, *names)},
    }
    return _CountedSlide(
        result=result,
        counted=counted,
        inputs=inputs,
        counts=counts,
        outlines=not has_points,
        names=tuple(names),
        found_names=frozenset(found.classes) - {UNCLASSIFIED},
        true_names=true_names,
    )


def _fold_classes(outlines: TruthOutlines, mapped: Mapping[str, str]) -> list[str]:
    """Return the folded name of the class of each object, as the model calls it."""
    keys = {name: normalise_class(mapped.get(normalise_class(name), name)) for name in set(outlines.classes)}
    return [keys[name] for name in outlines.classes]


def _list_known_classes(read: Sequence[_CountedSlide]) -> list[str]:
    """Return the classes that the results hold or the summary lists."""
    held = sorted(set[str]().union(*(one.found_names for one in read)))
    stated = read[0].result.summary["model"].get("objects")
    return [*dict.fromkeys([*held, *(stated.get("classes", ()) if isinstance(stated, dict) else ())])]


def _refuse_unknown_classes(read: Sequence[_CountedSlide], known: Sequence[str], options: EvaluationOptions) -> None:
    """Raise UsageError for a class of the truth that no result holds."""
    if options.any_class:
        return
    true = {name for one in read for name in one.true_names.values()}
    if true and not known:
        raise UsageError("The found objects have no classes, and the true ones have: compare them with --any-class")
    if true:
        match_classes(true, known, mapped=options.mapped, ignored=options.ignored)


def _describe_counts(counts: ObjectCounts) -> dict[str, int]:
    names = ("matched", "extra", "missed", "matched_near", "extra_near", "missed_near")
    return {name: int(getattr(counts, name)) for name in names}


def _spread_confusion(one: _CountedSlide, names: Sequence[str]) -> NDArray[np.float64]:
    """Return the slide's matrix in the order of the set's names."""
    if not names:
        return np.zeros((0, 0))
    places = np.array([names.index(name) for name in one.names], np.intp)
    matrix = np.zeros((len(names), len(names)))
    matrix[np.ix_(places, places)] = one.counted.confusion
    return matrix


def _count_beyond(found: TruthOutlines, true: TruthOutlines) -> int:
    """Return how many found objects are outside of the rectangle around all true ones."""
    if not len(true):
        return len(found)
    left, top, right, bottom = shapely.total_bounds(true.shapes)
    x, y = shapely.get_coordinates(shapely.centroid(found.shapes)).T if len(found) else np.zeros((2, 0))
    return int(((x < left) | (x > right) | (y < top) | (y > bottom)).sum())


def _count_like_regions(true: TruthOutlines) -> int:
    """Return how many outlines hold many others."""
    middles = shapely.centroid(true.shapes)
    outer, _ = shapely.STRtree(middles).query(true.shapes, predicate="contains")
    return int((np.bincount(outer, minlength=len(true)) > _MANY_WITHIN).sum()) if len(outer) else 0


def _note_objects(read: Sequence[_CountedSlide], names: Sequence[str], options: EvaluationOptions) -> list[str]:
    totals = Counter[str]()
    for one in read:
        totals.update({key: value for key, value in one.counts.items() if isinstance(value, int)})
    notes: list[str] = []
    if 2 * totals["found_beyond_truth"] > totals["found"]:
        notes.append(
            f"{totals['found_beyond_truth']:,} of {totals['found']:,} found objects are outside of the rectangle "
            "around the true ones, and count as false. If only a part of the slide was annotated, draw that part as a "
            "region and name its class with --within."
        )
    if totals["true_like_regions"]:
        notes.append(
            f"{totals['true_like_regions']:,} outlines of the truth hold more than {_MANY_WITHIN} others and look like "
            "regions: name their class with --within, or leave it out with --ignore."
        )
    if totals["true_off_slide"]:
        notes.append(f"{totals['true_off_slide']:,} outlines are off their slides, and are not counted.")
    if not all(one.outlines for one in read):
        notes.append("The truth of a slide is points, so objects are compared by distance alone.")
    if not names and not options.any_class:
        notes.append("The truth has no classes, so objects are compared without them.")
    return notes
