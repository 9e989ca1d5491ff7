"""Evaluates the classes of tiles against regions or against labels of tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from tessera.evaluation.choices import Task
from tessera.evaluation.class_names import choose_columns, resolve_classes
from tessera.evaluation.classification import score_classes
from tessera.evaluation.metrics.bootstrap import FEW_SLIDES
from tessera.evaluation.options import EvaluatedSlide, Evaluation, EvaluationOptions, LeftOutName
from tessera.evaluation.placing import PlacedTruth, place_outlines
from tessera.evaluation.result_folders import ResultFolder, SlideLeftOut, compute_file_sha256
from tessera.evaluation.samples import ClassSamples
from tessera.evaluation.truth.files import SlideTruth
from tessera.evaluation.truth.labels import Corner
from tessera.evaluation.truth.outlines import UNCLASSIFIED
from tessera.evaluation.truth.regions import classify_tiles
from tessera.local_run.inputs import UsageError
from wsi.results.summary import NAME as SUMMARY
from wsi.results.tables import NAME as TILES

Pair = tuple[ResultFolder, SlideTruth]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TileTable:
    """The tiles of a slide."""

    boxes: NDArray[np.int64]  #: [tiles, 4] minx, miny, width, height in level-0 px
    scores: NDArray[np.float32]  #: [tiles, columns]
    inputs: Mapping[str, str]  #: SHA-256 of the files read


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _LabelledTiles:
    result: ResultFolder
    table: TileTable
    classes: NDArray[np.intp]  #: [tiles] index into `names`; -1: none
    names: tuple[str, ...]  #: of the truth
    counts: dict[str, Any]


def evaluate_tiles(
    pairs: Sequence[Pair], options: EvaluationOptions, on_slide: Callable[[str], None]
) -> tuple[Evaluation, list[LeftOutName]]:
    """Return the evaluation, and the slides that could not be evaluated. Raises UsageError if none could."""
    columns = choose_columns(pairs[0][0].columns, options.columns)
    read: list[_LabelledTiles] = []
    left_out: list[LeftOutName] = []
    for result, truth in pairs:
        on_slide(result.name)
        try:
            read.append(_read_slide(result, truth, columns, options))
        except SlideLeftOut as error:
            left_out.append(LeftOutName(name=result.name, reason=error.sentence))
    refuse_without_slides(read, left_out)
    named = {name for one in read for name in one.names}
    classes, number_of = resolve_classes(
        named, columns, mapped=options.mapped, ignored=options.ignored, threshold=options.threshold
    )
    samples: list[ClassSamples] = []
    kept: list[_LabelledTiles] = []
    for one in read:
        numbers = np.array([-1 if (number := number_of[name]) is None else number for name in one.names] + [-1])
        truth = numbers[one.classes]  # -1, no class, is the last
        chosen = truth >= 0
        one.counts["tiles_ignored"] = int((one.classes >= 0).sum() - chosen.sum())
        one.counts["tiles_compared"] = int(chosen.sum())
        if not chosen.any():
            left_out.append(LeftOutName(name=one.result.name, reason=_describe_nothing(one.counts)))
            continue
        kept.append(one)
        samples.append(
            ClassSamples(
                scores=one.table.scores[chosen],
                truth=truth[chosen],
                areas=_measure_areas(one.result, one.table)[chosen],
            )
        )
    refuse_without_slides(kept, left_out)
    scores = score_classes(samples, classes, ordinal=options.ordinal, seed=options.seed)
    slides = [
        EvaluatedSlide(
            name=one.result.name,
            digest=one.result.summary["slide"].get("digest"),
            inputs=one.table.inputs,
            counts=one.counts,
            metrics=metrics,
            confusion=confusion,
        )
        for one, metrics, confusion in zip(kept, scores.of_slides, scores.confusion_of_slides, strict=True)
    ]
    return Evaluation(
        task=Task.TILES,
        model=describe_model(kept[0].result),
        classes=classes.names,
        estimates=scores.estimates,
        slides=tuple(slides),
        notes=(*note_intervals(len(slides)), *_note_unmatched(slides)),
        has_intervals=len(slides) > 1,
        confusion=scores.confusion,
        confusion_classes=classes.names,
        curves=scores.curves,
        calibration=scores.calibration,
    ), left_out


def read_tiles(result: ResultFolder, columns: Sequence[str]) -> TileTable:
    """Read tiles.csv. Raises SlideLeftOut if it is not there, damaged, or without tiles."""
    file = result.folder / TILES
    if not file.is_file():
        raise SlideLeftOut(f"the result has no {TILES}: run the slide again")
    inputs = {
        f"{SUMMARY}": compute_file_sha256(result.folder / SUMMARY),
        f"{TILES}": result.compute_digest(file),
    }
    try:
        arrays = result.read().tile_arrays
    except (ValueError, StopIteration) as error:
        raise SlideLeftOut(f"{TILES} is damaged: run the slide again") from error
    if not len(arrays["minx"]):
        raise SlideLeftOut("the result has no tile: no tissue was found")
    boxes = np.stack([arrays[name] for name in ("minx", "miny", "width", "height")], axis=1).astype(np.int64)
    scores = np.stack([arrays[name] for name in columns], axis=1).astype(np.float32)
    return TileTable(boxes=boxes, scores=scores, inputs=inputs)


def refuse_without_slides(slides: Sequence[object], left_out: Sequence[LeftOutName]) -> None:
    """Raise UsageError, with the first reasons, if no slide is left."""
    if not slides:
        reasons = "; ".join(f"{one.name}: {one.reason}" for one in left_out[:3])
        more = f"; and {len(left_out) - 3:,} more" if len(left_out) > 3 else ""
        raise UsageError(f"No slide could be evaluated. {reasons}{more}")


def describe_model(result: ResultFolder) -> dict[str, Any]:
    """Return what the evaluation says of the model."""
    model = result.summary["model"]
    return {"name": model["name"], "version": model.get("version"), "digest": model["digest"]}


def note_intervals(slides: int) -> tuple[str, ...]:
    """Return a sentence on intervals that are absent or too narrow."""
    if slides == 1:
        return ("There are no intervals: they show how much slides differ, and this is one slide.",)
    if slides < FEW_SLIDES:
        return (f"Intervals of {slides} slides are too narrow: {FEW_SLIDES} or more show how much slides differ.",)
    return ()


def _note_unmatched(slides: Sequence[EvaluatedSlide]) -> tuple[str, ...]:
    """Return a sentence for each kind of truth that no tile took."""
    labels = sum(slide.counts.get("labels_without_tile", 0) for slide in slides)
    regions = sum(slide.counts.get("regions_off_slide", 0) for slide in slides)
    notes: list[str] = []
    if labels:
        notes.append(f"{labels:,} labels are of no tile of the results, and are not counted.")
    if regions:
        notes.append(f"{regions:,} regions are off their slides, and are not counted.")
    return tuple(notes)


def _read_slide(
    result: ResultFolder, truth: SlideTruth, columns: Sequence[str], options: EvaluationOptions
) -> _LabelledTiles:
    table = read_tiles(result, columns)
    if truth.outlines is not None:
        placed = place_outlines(result, truth, options)
        classes, names, counts = _classify_by_regions(result, table, placed, options)
    else:
        assert truth.tiles is not None
        classes, names, counts = _classify_by_labels(table, truth.tiles, options)
    inputs = {**table.inputs, truth.source.name: compute_file_sha256(truth.source)}
    return _LabelledTiles(
        result=result,
        table=TileTable(boxes=table.boxes, scores=table.scores, inputs=inputs),
        classes=classes,
        names=names,
        counts={"tiles": len(table.boxes), **counts},
    )


def _classify_by_regions(
    result: ResultFolder, table: TileTable, placed: PlacedTruth, options: EvaluationOptions
) -> tuple[NDArray[np.intp], tuple[str, ...], dict[str, Any]]:
    regions = placed.outlines.select(shapely.area(placed.outlines.shapes) > 0)
    points = len(placed.outlines) - len(regions)
    if not len(regions) and placed.area is None:
        raise SlideLeftOut("the truth holds points and no region: draw regions to evaluate tiles")
    if {*regions.classes} == {UNCLASSIFIED} and not options.mapped:
        raise SlideLeftOut(
            "no region of the truth has a class: set the classes in QuPath and export again, or say what they are with "
            f'--map "{UNCLASSIFIED}=COLUMN"'
        )
    boxes = _clip_boxes(table.boxes, result.size)
    found = classify_tiles(
        boxes,
        regions,
        rule=options.tile_rule,
        least_share=options.least_share,
        background=options.background,
    )
    classes, excluded = found.classes, 0
    if placed.area is not None:
        shapely.prepare(placed.area)
        centres = shapely.points((boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2)
        is_in = shapely.intersects(placed.area, centres)
        excluded = int((~is_in & (classes >= 0)).sum())
        classes = np.where(is_in, classes, -1)
    return (
        classes,
        found.names,
        {
            "tiles_outside_regions": found.outside,
            "tiles_partly_covered": found.partial,
            "tiles_between_classes": found.undecided,
            "tiles_outside_area": excluded,
            "regions": len(regions),
            "regions_off_slide": placed.outside,
            "points_left_out": points,
            "outlines_left_out": dict(placed.outlines.left_out),
            "outlines_repaired": placed.outlines.repaired,
        },
    )


def _classify_by_labels(
    table: TileTable, labels: Mapping[Corner, str], options: EvaluationOptions
) -> tuple[NDArray[np.intp], tuple[str, ...], dict[str, Any]]:
    corners: list[Corner] = [(x, y) for x, y in table.boxes[:, :2].tolist()]
    rest = options.background
    names = tuple(sorted({*labels.values()} | ({rest} if rest is not None else set())))
    number_of = {name: number for number, name in enumerate(names)}
    none = -1 if rest is None else number_of[rest]
    classes = np.array([number_of[labels[corner]] if corner in labels else none for corner in corners], np.intp)
    known = labels.keys() & set(corners)
    if not known:
        x, y = next(iter(labels))
        raise SlideLeftOut(
            f"none of {len(labels):,} labels is of a tile: minx and miny must be those of {TILES}, and the first label "
            f"is of {x}, {y}"
        )
    counts = {"tiles_without_label": len(corners) - len(known), "labels_without_tile": len(labels) - len(known)}
    return classes, names, counts


def _clip_boxes(boxes: NDArray[np.int64], size: tuple[int, int]) -> NDArray[np.float64]:
    """Return left, top, right, bottom of what of each tile is on the slide."""
    begin = np.maximum(boxes[:, :2], 0)
    end = np.minimum(boxes[:, :2] + boxes[:, 2:], size)
    return np.concatenate([begin, end], axis=1).astype(np.float64)


def _measure_areas(result: ResultFolder, table: TileTable) -> NDArray[np.float64]:
    """Return the um² of each tile that are on the slide."""
    clipped = _clip_boxes(table.boxes, result.size)
    across, down = result.mpp
    return np.maximum((clipped[:, 2:] - clipped[:, :2]).prod(axis=1), 0) * across * down


def _describe_nothing(counts: Mapping[str, Any]) -> str:
    parts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if isinstance(count, int))
    return f"no tile has a class of the truth ({parts}): are the regions where tiles were analysed?"
