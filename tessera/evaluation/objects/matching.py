"""Matches objects by the overlap of their outlines, or by the distance of their centroids.

By overlap, a pair has an intersection over union (IoU) of at least a limit. Above 0.5 no object can have two partners
(Kirillov 2019); at 0.5 and below the largest matching of the largest IoU is chosen. By distance, it is the largest
matching of the least summed distance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy.spatial import KDTree

from tessera.evaluation.objects.assignment import match_pairs


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ObjectMatches:
    """Pairs of a found and a true object; neither is in two pairs."""

    found: NDArray[np.intp]  #: [pairs]
    true: NDArray[np.intp]  #: [pairs]
    closeness: NDArray[np.float64]  #: [pairs] IoU, or the distance in um


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Overlaps:
    """All pairs of a found and a true object that overlap."""

    found: NDArray[np.intp]  #: [pairs]
    true: NDArray[np.intp]  #: [pairs]
    iou: NDArray[np.float64]  #: [pairs]

    def select(self, chosen: NDArray[np.bool_]) -> Overlaps:
        return Overlaps(found=self.found[chosen], true=self.true[chosen], iou=self.iou[chosen])


def measure_overlaps(found: NDArray[np.object_], true: NDArray[np.object_]) -> Overlaps:
    """Return the overlaps of valid polygons."""
    true_number, found_number = shapely.STRtree(found).query(true, predicate="intersects")
    both = shapely.area(shapely.intersection(found[found_number], true[true_number]))
    either = shapely.area(found)[found_number] + shapely.area(true)[true_number] - both
    overlapping = both > 0  # those that only touch are no pair
    overlaps = Overlaps(found=found_number, true=true_number, iou=both / np.where(either > 0, either, 1))
    return overlaps.select(overlapping)


def match_by_overlap(overlaps: Overlaps, least_iou: float) -> ObjectMatches:
    """Return the matching of pairs with an IoU of at least `least_iou`."""
    near = overlaps.select(overlaps.iou >= least_iou)
    chosen = match_pairs(near.true, near.found, 1 - near.iou)
    return ObjectMatches(found=near.found[chosen], true=near.true[chosen], closeness=near.iou[chosen])


def match_by_distance(found: NDArray[np.float64], true: NDArray[np.float64], farthest: float) -> ObjectMatches:
    """Return the matching of points [n, 2] that are at most `farthest` apart, all in um."""
    if not len(found) or not len(true):
        none = np.zeros(0, np.intp)
        return ObjectMatches(found=none, true=none, closeness=np.zeros(0))
    near = KDTree(true).sparse_distance_matrix(KDTree(found), farthest, output_type="ndarray")
    chosen = match_pairs(near["i"], near["j"], near["v"] / farthest)
    return ObjectMatches(found=near["j"][chosen], true=near["i"][chosen], closeness=near["v"][chosen])
