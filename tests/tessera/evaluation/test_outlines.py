"""Outlines and classes, as QuPath and other tools write them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import shapely

from tessera.evaluation.truth.outlines import UNCLASSIFIED, parse_outlines, read_outlines
from tessera.local_run.inputs import UsageError
from wsi.errors import Invalid
from wsi.given.classes import read_class

SQUARE = [[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]


def feature(geometry: Any, name: str | None = "Tumor") -> dict[str, Any]:
    properties = {"objectType": "annotation"} | ({} if name is None else {"classification": {"name": name}})
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def polygon(*rings: Any) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


@pytest.mark.parametrize(
    ("properties", "name"),
    [
        ({"classification": {"name": "Tumor", "color": [200, 0, 0]}}, "Tumor"),
        ({"classification": {"names": ["Tumor", "Positive"], "color": [1, 2, 3]}}, "Tumor: Positive"),
        ({"classification": "Stroma"}, "Stroma"),
        ({"classification": '{"name": "Immune", "color": null}'}, "Immune"),
        ({"classification": "{broken"}, "{broken"),
        ({"classification": {"name": None}}, UNCLASSIFIED),
        ({"classification": " "}, UNCLASSIFIED),
        ({"name": "a patient's name"}, UNCLASSIFIED),
        (None, UNCLASSIFIED),
    ],
)
def test_class_is_read_however_it_is_written(properties: Any, name: str) -> None:
    assert (read_class(properties) or UNCLASSIFIED) == name


def test_collections_arrays_and_bare_geometries_are_read() -> None:
    square = polygon(SQUARE)
    for value in (
        {"type": "FeatureCollection", "features": [feature(square)]},
        [feature(square)],
        feature(square),
        {"type": "GeometryCollection", "geometries": [square]},
        square,
    ):
        assert shapely.area(parse_outlines(value).shapes).tolist() == [100]


def test_hole_is_no_part_and_open_ring_is_closed() -> None:
    read = parse_outlines(feature(polygon(SQUARE[:-1], [[2, 2], [4, 2], [4, 4], [2, 4]])))
    assert shapely.area(read.shapes).tolist() == [96]


def test_parts_are_one_object_unless_split() -> None:
    far = [[x + 50, y] for x, y in SQUARE]
    value = [feature({"type": "MultiPolygon", "coordinates": [[SQUARE], [far]]}), feature(polygon(SQUARE), "Stroma")]
    whole, split = parse_outlines(value), parse_outlines(value, split_parts=True)
    assert (shapely.area(whole.shapes).tolist(), whole.classes, whole.in_parts) == ([200, 100], ("Tumor", "Stroma"), 1)
    assert shapely.area(split.shapes).tolist() == [100, 100, 100]
    assert split.classes == ("Tumor", "Tumor", "Stroma")


def test_ring_that_crosses_itself_is_repaired_and_counted() -> None:
    read = parse_outlines(feature(polygon([[0, 0], [10, 10], [10, 0], [0, 10], [0, 0]])))
    assert (read.repaired, shapely.area(read.shapes).tolist()) == (1, [50])


def test_points_are_kept_and_lines_and_empty_outlines_are_counted() -> None:
    read = parse_outlines(
        [
            feature({"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]}, "Immune"),
            feature({"type": "LineString", "coordinates": [[0, 0], [1, 1]]}),
            feature(polygon([[0, 0], [5, 5], [0, 0]])),
            feature(polygon([[0, 0], [5, 0], [10, 0], [0, 0]])),
            feature(None),
            feature(polygon(SQUARE), None),
        ]
    )
    assert read.classes == (UNCLASSIFIED, "Immune", "Immune")
    assert read.left_out == {"line": 1, "outline without area": 2, "object without a geometry": 1}


def test_shifted_outlines_keep_their_shape() -> None:
    moved = parse_outlines(feature(polygon(SQUARE))).move(100, 50)
    assert shapely.total_bounds(moved.shapes).tolist() == [100, 50, 110, 60]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (feature({"type": "Circle"}), "in feature 0, the type must be a Polygon or MultiPolygon, not Circle"),
        (feature(polygon([[0, 0], ["a", 1], [2, 2]])), "in feature 0, a point is not a pair of numbers"),
        (feature(polygon([[0, 0], [1], [2, 2]])), "a point is not a pair of numbers"),
        (feature(polygon([[0, 0], [1e12, 0], [2, 2]])), "farther away than any slide reaches"),
        (feature(polygon([[0, 0], [float("nan"), 0], [2, 2]])), "farther away than any slide reaches"),
        (feature({"type": "Polygon"}), "a list is missing"),
        ("text", "an object with a type is missing"),
        ([[[[[[]]]]]], "collections lie in collections"),
    ],
)
def test_what_is_no_outline_is_refused_with_its_place(value: Any, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        parse_outlines(value)


def test_packed_file_is_read_and_a_broken_one_names_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.geojson.gz"
    path.write_bytes(gzip.compress(json.dumps(feature(polygon(SQUARE))).encode()))
    assert len(read_outlines(path)) == 1
    path.write_text("[")
    with pytest.raises(UsageError, match=r"The truth .* is not JSON"):
        read_outlines(path)
    path.write_text('{"type": "Circle"}')
    with pytest.raises(UsageError, match=r"a\.geojson\.gz: in feature 0"):
        read_outlines(path)
