"""The true class of each tile from drawn regions.

Where regions of different classes overlap, the smaller one counts, as QuPath puts it into the larger one. A tile
belongs to the class that covers most of it, if that is at least a share of its area, or to the class at its centre.
A tile of which two classes cover the same, or whose centre is on the border of two, has no class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from tessera.evaluation.choices import TileRule
from tessera.evaluation.objects.areas import merge_overlapping
from tessera.evaluation.truth.outlines import TruthOutlines

_EVEN: Final = 1e-9  #: of a tile's area: shares that differ by less are equal


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TileTruth:
    classes: NDArray[np.intp]  #: [tiles] index into `names`; -1: none
    names: tuple[str, ...]
    outside: int  #: tiles that no region touches, or whose centre is in none
    partial: int  #: tiles of which no class covers enough
    undecided: int  #: tiles between two classes


def split_regions(regions: TruthOutlines) -> NDArray[np.object_]:
    """Return the shape of each region without the smaller regions of other classes that overlap it."""
    sizes = shapely.area(regions.shapes)
    rank = np.empty(len(regions), np.intp)
    rank[np.lexsort((np.arange(len(regions)), sizes))] = np.arange(len(regions))  # of equal ones the first
    one, other = shapely.STRtree(regions.shapes).query(regions.shapes, predicate="intersects")
    classes = np.array(regions.classes, object)
    smaller = (rank[other] < rank[one]) & (classes[one] != classes[other])
    found = regions.shapes.copy()
    for number in np.unique(one[smaller]):
        hidden = shapely.union_all(regions.shapes[other[smaller & (one == number)]])
        found[number] = shapely.difference(found[number], hidden)
    return found


def classify_tiles(
    boxes: NDArray[np.float64], regions: TruthOutlines, *, rule: TileRule, least_share: float, background: str | None
) -> TileTruth:
    """Return the classes of boxes [tiles, 4] of left, top, right, bottom. `background` names the class of what is
    outside of all regions; None: it has none."""
    named = set(regions.classes) | ({background} if background is not None else set())
    names = tuple(sorted(named))
    shares = np.zeros((len(boxes), len(names)))
    shapes, numbers = _merge_classes(split_regions(regions), regions.classes, names)
    if rule is TileRule.CENTRE:
        centres = shapely.points((boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2)
        tile, region = shapely.STRtree(shapes).query(centres, predicate="intersects")
        shares[tile, numbers[region]] = 1
        outside = shares.sum(axis=1) == 0
        least_share = 1.0
    else:
        tile, region, share = _measure_shares(boxes, shapes)
        np.add.at(shares, (tile, numbers[region]), share)
        outside = shares.sum(axis=1) <= _EVEN
    if background is not None:
        shares[:, names.index(background)] += np.maximum(1 - shares.sum(axis=1), 0)
        outside[:] = False
    return _choose_classes(shares, names, outside, least_share)


def _merge_classes(
    shapes: NDArray[np.object_], classes: tuple[str, ...], names: tuple[str, ...]
) -> tuple[NDArray[np.object_], NDArray[np.intp]]:
    """Return shapes of which none overlaps another of its class, and the number of the class of each."""
    held = np.array(classes, object)
    merged = [merge_overlapping(shapes[held == name]) for name in names]
    return np.concatenate(merged), np.repeat(np.arange(len(names)), [len(each) for each in merged])


def _choose_classes(
    shares: NDArray[np.float64], names: tuple[str, ...], outside: NDArray[np.bool_], least_share: float
) -> TileTruth:
    classes = shares.argmax(axis=1).astype(np.intp)
    most = shares.max(axis=1, initial=0)
    even = (shares >= most[:, None] - _EVEN).sum(axis=1) > 1
    partial = ~outside & (most < least_share - _EVEN)
    undecided = ~outside & ~partial & even
    classes[outside | partial | undecided] = -1
    return TileTruth(
        classes=classes,
        names=names,
        outside=int(outside.sum()),
        partial=int(partial.sum()),
        undecided=int(undecided.sum()),
    )


def _measure_shares(
    boxes: NDArray[np.float64], shapes: NDArray[np.object_]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Return the pairs of a tile and a region that overlap, and the share of the tile that is in the region."""
    tiles = shapely.box(*boxes.T)
    tile, region = shapely.STRtree(shapes).query(tiles, predicate="intersects")
    shapely.prepare(shapes)
    share = np.ones(len(tile))
    crossed = ~shapely.contains(shapes[region], tiles[tile])
    within = shapely.intersection(shapes[region[crossed]], tiles[tile[crossed]])
    share[crossed] = shapely.area(within) / shapely.area(tiles[tile[crossed]])
    return tile, region, share
