"""Counts the found and missed objects of one slide, of each class and of all.

With an area, objects are matched everywhere and counted by their centroids: a pair counts if the true object is inside,
and an object alone if it is inside itself. So the border of the area makes no false finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from tessera.evaluation.objects.areas import measure_common_area, merge_overlapping
from tessera.evaluation.objects.matching import ObjectMatches, match_by_distance, match_by_overlap, measure_overlaps
from tessera.evaluation.objects.scores import ObjectCounts

ALL: str = ""  #: the name of all classes together


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ObjectSet:
    """Objects of one slide, in level-0 px."""

    shapes: NDArray[np.object_]  #: [n]
    classes: NDArray[np.object_]  #: [n] names

    def __len__(self) -> int:
        return len(self.shapes)

    def select(self, name: str) -> NDArray[np.bool_]:
        """Return which objects are of the class."""
        return np.ones(len(self), bool) if name == ALL else np.asarray(self.classes == name, bool)


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchingRule:
    iou: float | None  #: least IoU of a pair; None: the truth is points
    distance: float | None  #: um, farthest centroids of a pair; None: not matched by distance
    mpp: tuple[float, float]  #: um a px, across and down


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CountedObjects:
    by_class: Mapping[str, ObjectCounts]  #: ALL among them
    confusion: NDArray[np.float64]  #: [true, found] class of pairs that were matched whatever their classes


def count_objects(
    found: ObjectSet, true: ObjectSet, names: Sequence[str], rule: MatchingRule, area: shapely.Geometry | None
) -> CountedObjects:
    """Return the counts of ALL and of each of `names`. Objects of a class are matched with those of the same class."""
    counts: dict[str, dict[str, float]] = {name: {} for name in (ALL, *names)}
    points = [shapely.get_coordinates(shapely.centroid(one.shapes)) for one in (found, true)]
    inside = [_find_inside(each, area) for each in points]
    confusion = np.zeros((len(names), len(names)))
    if rule.iou is not None:
        overlaps = measure_overlaps(found.shapes, true.shapes)
        same = np.asarray(found.classes[overlaps.found] == true.classes[overlaps.true], bool)
        matches = match_by_overlap(overlaps, rule.iou)
        confusion = _count_classes(matches, found, true, names, inside[1])
        _count_matches(counts, [ALL], matches, found, true, inside, ("matched", "extra", "missed"))
        matches = match_by_overlap(overlaps.select(same), rule.iou)
        _count_matches(counts, names, matches, found, true, inside, ("matched", "extra", "missed"))
        for name in (ALL, *names):
            counts[name] |= _measure_areas(found.shapes[found.select(name)], true.shapes[true.select(name)], area, rule)
    if rule.distance is not None:
        microns = [each * rule.mpp for each in points]
        keys = ("matched_near", "extra_near", "missed_near")
        matches = match_by_distance(microns[0], microns[1], rule.distance)
        if rule.iou is None:
            confusion = _count_classes(matches, found, true, names, inside[1])
        _count_matches(counts, [ALL], matches, found, true, inside, keys)
        for name in names:
            of_found, of_true = (np.flatnonzero(one.select(name)) for one in (found, true))
            part = match_by_distance(microns[0][of_found], microns[1][of_true], rule.distance)
            matches = ObjectMatches(found=of_found[part.found], true=of_true[part.true], closeness=part.closeness)
            _count_matches(counts, [name], matches, found, true, inside, keys)
    return CountedObjects(
        by_class={name: ObjectCounts(**values) for name, values in counts.items()}, confusion=confusion
    )


def _find_inside(points: NDArray[np.float64], area: shapely.Geometry | None) -> NDArray[np.bool_]:
    if area is None:
        return np.ones(len(points), bool)
    shapely.prepare(area)
    return np.asarray(shapely.intersects_xy(area, *points.T), bool)


def _count_matches(
    counts: dict[str, dict[str, float]],
    names: Sequence[str],
    matches: ObjectMatches,
    found: ObjectSet,
    true: ObjectSet,
    inside: Sequence[NDArray[np.bool_]],
    keys: tuple[str, str, str],
) -> None:
    """Put the counts of matches of equal classes, or of ALL, under the keys for matched, extra and missed."""
    partnered_found, partnered_true = np.zeros(len(found), bool), np.zeros(len(true), bool)
    partnered_found[matches.found], partnered_true[matches.true] = True, True
    counted = inside[1][matches.true]
    for name in names:
        of_class = counted & true.select(name)[matches.true]
        counts[name][keys[0]] = float(of_class.sum())
        counts[name][keys[1]] = float((inside[0] & ~partnered_found & found.select(name)).sum())
        counts[name][keys[2]] = float((inside[1] & ~partnered_true & true.select(name)).sum())
        if keys[0] == "matched":
            counts[name]["iou"] = float(matches.closeness[of_class].sum())


def _count_classes(
    matches: ObjectMatches, found: ObjectSet, true: ObjectSet, names: Sequence[str], inside: NDArray[np.bool_]
) -> NDArray[np.float64]:
    counted = inside[matches.true]
    confusion = np.zeros((len(names), len(names)))
    for row, name in enumerate(names):
        of_true = counted & true.select(name)[matches.true]
        for column, other in enumerate(names):
            confusion[row, column] = float((of_true & found.select(other)[matches.found]).sum())
    return confusion


def _measure_areas(
    found: NDArray[np.object_], true: NDArray[np.object_], area: shapely.Geometry | None, rule: MatchingRule
) -> dict[str, float]:
    """Return um² of found, of true, and of both, within the area."""
    um2 = rule.mpp[0] * rule.mpp[1]
    merged_found, merged_true = merge_overlapping(found, area), merge_overlapping(true, area)
    return {
        "found_area": float(shapely.area(merged_found).sum()) * um2,
        "true_area": float(shapely.area(merged_true).sum()) * um2,
        "both_area": measure_common_area(merged_found, merged_true) * um2,
    }
