"""The objects that a user gave, each with the numbers of its tile, as the writers read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.given.objects import Feature, GivenObjects
from wsi.planning.object_boxes import PlannedObjects
from wsi.records.model_card import ModelCard, OutputColumn, OutputKind
from wsi.results.scored_tiles import ScoredTiles

NONE: Final = -1  #: the row of an object without a tile, or with one that cannot be read
_PREFIX: Final = "prob_"  #: that WSInfer puts before a class


def get_given(tiles: ScoredTiles) -> tuple[PlannedObjects, GivenObjects]:
    """Return the objects of tiles that are around some."""
    assert tiles.plan.objects is not None, "the registry has these writers for such plans alone"
    assert tiles.given is not None, "stitching takes no such plan without its objects"
    return tiles.plan.objects, tiles.given


def find_rows(tiles: ScoredTiles) -> NDArray[np.int64]:
    """Return the row of each object of the file among the inferred tiles, or NONE."""
    planned, _ = get_given(tiles)
    rows = np.full(planned.count, NONE, np.int64)
    rows[planned.numbers[tiles.inferred]] = np.arange(len(tiles.inferred))
    return rows


def iterate_objects(tiles: ScoredTiles) -> Iterator[tuple[int, str, Feature]]:
    """Yield the row, the id and the feature of each object in the file's order."""
    _, given = get_given(tiles)
    yield from zip(find_rows(tiles).tolist(), given.ids, given.iterate_features(), strict=True)


def list_classes(card: ModelCard) -> tuple[str, ...]:
    """Return the names of the classes of which an object gets the most probable one; none for a model that scores one
    class or measures."""
    if card.output is not OutputKind.CLASSIFICATION or len(card.columns) < 2:
        return ()
    return tuple(map(_name_class, card.columns))


def _name_class(column: OutputColumn) -> str:
    return column.title or column.name.removeprefix(_PREFIX) or column.name
