"""The true class of a tile from regions."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from tessera.evaluation.choices import TileRule
from tessera.evaluation.truth.outlines import TruthOutlines
from tessera.evaluation.truth.regions import TileTruth, classify_tiles, split_regions

Box = tuple[float, float, float, float]
TILE: Box = (0, 0, 100, 100)


def regions(**boxes: Box | list[Box]) -> TruthOutlines:
    pairs = [(name, box) for name, some in boxes.items() for box in (some if isinstance(some, list) else [some])]
    return TruthOutlines(
        shapes=np.array([shapely.box(*box) for _, box in pairs], object), classes=tuple(name for name, _ in pairs)
    )


def classify(
    found: TruthOutlines,
    *tiles: Box,
    rule: TileRule = TileRule.OVERLAP,
    least_share: float = 0.5,
    background: str | None = None,
) -> TileTruth:
    boxes = np.array(tiles or [TILE], float)
    return classify_tiles(boxes, found, rule=rule, least_share=least_share, background=background)


def names(truth: TileTruth) -> list[str | None]:
    return [None if number < 0 else truth.names[number] for number in truth.classes]


def test_tile_half_covered_has_the_class_and_one_less_covered_has_none() -> None:
    found = classify(regions(a=(0, 0, 50, 100)), TILE, (1, 0, 101, 100), (200, 0, 300, 100))
    assert names(found) == ["a", None, None]
    assert (found.partial, found.outside, found.undecided) == (1, 1, 0)


def test_class_that_covers_more_wins() -> None:
    assert names(classify(regions(a=(0, 0, 60, 100), b=(60, 0, 100, 100)), least_share=0.3)) == ["a"]


def test_tile_that_two_classes_share_evenly_has_none() -> None:
    found = classify(regions(a=(0, 0, 50, 100), b=(50, 0, 100, 100)))
    assert (names(found), found.undecided) == ([None], 1)


def test_smaller_region_wins_over_the_one_around_it() -> None:
    found = regions(tissue=(-500, -500, 500, 500), tumour=(0, 0, 90, 100))
    assert names(classify(found, TILE, (200, 200, 300, 300))) == ["tumour", "tissue"]
    assert shapely.area(split_regions(found)).tolist() == [1_000_000 - 9_000, 9_000]


def test_overlapping_regions_of_a_class_cover_a_place_once() -> None:
    twice = regions(a=[(0, 0, 40, 100), (0, 0, 39, 100)])
    assert names(classify(twice)) == [None]
    assert names(classify(regions(a=[(0, 0, 40, 100), (40, 0, 60, 100)]))) == ["a"]


def test_background_is_the_class_of_what_is_outside() -> None:
    found = classify(regions(a=(0, 0, 30, 100)), TILE, (200, 0, 300, 100), background="rest")
    assert names(found) == ["rest", "rest"]
    assert found.outside == 0


def test_centre_decides_where_it_is_asked_to() -> None:
    small = regions(a=(45, 45, 55, 55), b=(0, 0, 40, 100))
    assert names(classify(small, rule=TileRule.CENTRE)) == ["a"]
    border = classify(regions(a=(0, 0, 50, 100), b=(50, 0, 100, 100)), rule=TileRule.CENTRE)
    assert (names(border), border.undecided) == ([None], 1)
    assert names(classify(small, (200, 0, 300, 100), rule=TileRule.CENTRE)) == [None]


@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200), st.integers(10, 150)), min_size=1, max_size=6),
    st.floats(0.1, 0.9),
)
@pytest.mark.filterwarnings("error")
def test_tile_of_one_class_is_decided_by_its_covered_area(
    squares: list[tuple[int, int, int]], least_share: float
) -> None:
    boxes: list[Box] = [(x, y, x + side, y + side) for x, y, side in squares]
    tile = shapely.box(80, 80, 180, 180)
    share = shapely.intersection(tile, shapely.union_all([shapely.box(*box) for box in boxes])).area / tile.area
    if abs(share - least_share) > 1e-6:
        found = classify(regions(a=boxes), tile.bounds, least_share=least_share)
        assert names(found) == ["a" if share >= least_share else None]
        assert found.outside + found.partial == (share < least_share)
