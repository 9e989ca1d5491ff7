from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsi.errors import Invalid
from wsi.outline import MAX_VERTICES, Frame, Outline, area, box, read_geojson

SQUARE = [[10, 20], [110, 20], [110, 120], [10, 120], [10, 20]]
HOLE = [[30, 40], [50, 40], [50, 60], [30, 60], [30, 40]]
POLYGON = {"type": "Polygon", "coordinates": [SQUARE, HOLE]}
READ = (tuple((float(x), float(y)) for x, y in SQUARE), tuple((float(x), float(y)) for x, y in HOLE))


def feature(geometry: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": {"name": "Jane Doe"}}


@pytest.mark.parametrize(
    "value",
    [
        POLYGON,
        feature(POLYGON),
        {"type": "FeatureCollection", "features": [feature(POLYGON)]},
        {"type": "MultiPolygon", "coordinates": [[SQUARE, HOLE]]},
        feature({"type": "GeometryCollection", "geometries": [POLYGON]}),
        {"type": "Polygon", "coordinates": [[[*point, 7.5] for point in SQUARE], HOLE]},
    ],
    ids=["polygon", "feature", "features", "multi", "geometries", "heights"],
)
def test_the_same_polygon_however_it_is_wrapped_is_the_same_region(value: dict[str, Any]):
    assert read_geojson(json.loads(json.dumps(value))) == Outline((READ,))


def test_names_that_tools_write_beside_coordinates_are_not_kept():
    assert "Jane" not in json.dumps(read_geojson(feature(POLYGON)).as_json())


def test_a_region_comes_back_from_json_as_it_was():
    drawn = read_geojson(POLYGON, Frame.QUPATH)
    assert Outline.from_json(json.loads(json.dumps(drawn.as_json()))) == drawn


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "an object with a type is missing"),
        ([POLYGON], "an object with a type is missing"),
        ({"type": "Point", "coordinates": [1, 2]}, "not Point"),
        ({"type": "LineString", "coordinates": SQUARE}, "not LineString"),
        ({}, "not None"),
        ({"type": "FeatureCollection", "features": []}, "holds no polygon"),
        ({"type": "FeatureCollection", "features": [feature(POLYGON), feature(None)]}, "In feature 1,"),
        ({"type": "FeatureCollection"}, "the list of features is missing"),
        ({"type": "Polygon"}, "the list of coordinates is missing"),
        ({"type": "Polygon", "coordinates": []}, "has no rings"),
        ({"type": "Polygon", "coordinates": [SQUARE, HOLE[:3]]}, "ring 1, there are fewer than four points"),
        ({"type": "Polygon", "coordinates": [SQUARE[:4]]}, "close the ring"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [5, 5], [9, 9], [0, 0]]]}, "encloses nothing"),
        ({"type": "Polygon", "coordinates": [[[0, "0"], *SQUARE]]}, "not a pair of numbers"),
        ({"type": "Polygon", "coordinates": [[[0], *SQUARE]]}, "not a pair of numbers"),
        ({"type": "Polygon", "coordinates": [[[True, 0], *SQUARE]]}, "not a pair of numbers"),
        ({"type": "Polygon", "coordinates": [[[float("nan"), 0], *SQUARE]]}, "farther away"),
        ({"type": "Polygon", "coordinates": [[[float("inf"), 0], *SQUARE]]}, "farther away"),
        ({"type": "Polygon", "coordinates": [[[10**400, 0], *SQUARE]]}, "farther away"),
        ({"type": "MultiPolygon", "coordinates": [[SQUARE], [5]]}, "polygon 1, ring 0"),
        ({"type": "MultiPolygon", "coordinates": [[SQUARE], 5]}, "polygon 1, a polygon has no rings"),
        ({"type": "MultiPolygon", "coordinates": [[SQUARE]] * 4001}, "20,000 points"),
        ({"type": "Polygon", "coordinates": [[[k, 0] for k in range(MAX_VERTICES + 1)]]}, "20,000 points"),
    ],
)
def test_what_is_no_region_is_refused_and_its_place_named(value: Any, said: str):
    with pytest.raises(Invalid) as caught:
        read_geojson(value)
    assert said in caught.value.sentence


def test_collections_in_collections_end():
    value: Any = POLYGON
    for _ in range(400):
        value = {"type": "GeometryCollection", "geometries": [value]}
    with pytest.raises(Invalid, match="collections lie in collections"):
        read_geojson(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "coordinates", "features", "geometry", "geometries"]), inner)
        | st.builds(lambda kind, value: {"type": kind, "coordinates": value}, st.sampled_from(["Polygon"]), inner)
    ),
    max_leaves=20,
)


@given(JSON)
def test_whatever_comes_is_read_or_refused(value: Any):
    try:
        drawn = read_geojson(value)
    except Invalid:
        return
    assert drawn.vertices >= 4


def test_qupath_counts_from_the_corner_of_what_was_scanned():
    drawn = read_geojson(POLYGON, Frame.QUPATH)
    assert box(drawn.on_slide((1000, 500, 9000, 9000))) == (1010, 520, 1110, 620)
    assert box(drawn.on_slide(None)) == (10, 20, 110, 120)
    assert box(read_geojson(POLYGON).on_slide((1000, 500, 9000, 9000))) == (10, 20, 110, 120)


def test_area_of_a_ring():
    assert area(READ[0]) == 10_000
    far = tuple((x + 1e6, y + 1e6) for x, y in READ[1])
    assert area(far) == area(far[::-1]) == 400
