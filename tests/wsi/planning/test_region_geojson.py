from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wsi.errors import Invalid
from wsi.planning.region_geojson import FARTHEST, MAX_POINTS, TOLERANCES, read_geojson
from wsi.planning.thinning import thin_ring
from wsi.records.outline import MAX_VERTICES, Outline, Ring

SQUARE = [[10, 20], [110, 20], [110, 120], [10, 120], [10, 20]]
HOLE = [[30, 40], [50, 40], [50, 60], [30, 60], [30, 40]]
SLIVER = [[5, 5], [6, 5], [5, 5], [5, 5]]  # HistoQC PR#180, QuPath's brush
BOW_TIE = [[0, 0], [100, 100], [100, 0], [0, 100], [0, 0]]  # hover_next#26
POLYGON = {"type": "Polygon", "coordinates": [SQUARE, HOLE]}
LINE = {"type": "LineString", "coordinates": [[1, 1], [9, 9]]}
POINTS = {"type": "MultiPoint", "coordinates": [[1, 1], [9, 9]]}
READ = (tuple((float(x), float(y)) for x, y in SQUARE), tuple((float(x), float(y)) for x, y in HOLE))


def feature(geometry: Any) -> dict[str, Any]:
    return {
        "type": "Feature",
        "id": "d0852662-6941-4506-bc90-cbda1c2fa7b0",
        "geometry": geometry,
        "properties": {"objectType": "annotation", "name": "Jane Doe", "measurements": {"Length": math.nan}},
    }


def polygon(*rings: Any) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


@pytest.mark.parametrize(
    "value",
    [
        POLYGON,
        feature(POLYGON),
        [feature(POLYGON)],
        [POLYGON],
        {"type": "FeatureCollection", "features": [feature(POLYGON)]},
        [{"type": "FeatureCollection", "features": [feature(POLYGON)]}],
        {"type": "MultiPolygon", "coordinates": [[SQUARE, HOLE]]},
        feature({"type": "GeometryCollection", "geometries": [POLYGON]}),
        {"type": "Polygon", "coordinates": [[[*point, 7.5] for point in SQUARE], HOLE]},
        feature(POLYGON | {"isEllipse": True, "plane": {"c": -1, "z": 0, "t": 0}}),
        feature(POLYGON) | {"nucleusGeometry": polygon(BOW_TIE)},
    ],
    ids=["polygon", "feature", "array", "bare", "features", "exports", "multi", "geometries", "3d", "ellipse", "cell"],
)
def test_the_same_polygon_however_it_is_wrapped_is_the_same_region(value: Any):
    drawn = read_geojson(json.loads(json.dumps(value)))
    assert drawn.outline == Outline((READ,))
    assert drawn.notes == ()


def test_names_that_tools_write_beside_coordinates_are_not_kept():
    assert "Jane" not in json.dumps(read_geojson(feature(POLYGON)).outline.as_json())


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([LINE], "leaves out 1 line."),
        ([LINE, LINE, POINTS], "leaves out 2 lines and 1 set of points."),
        ([{"type": "Point", "coordinates": [1, 1]}, LINE, None], "1 point, 1 line and 1 object without a geometry."),
        ([{"type": "Polygon", "coordinates": []}], "leaves out 1 object without a geometry."),
        ([polygon(SLIVER), polygon([[5, 5]])], "leaves out 2 polygons of zero area."),
        ([polygon([[0, 0], [5, 5], [9, 9], [0, 0]])], "leaves out 1 polygon of zero area."),
        ([polygon([[0, 0], [9, 0], [9, 9], [9, 0], [0, 0]])], "leaves out 1 polygon of zero area."),
    ],
)
def test_what_encloses_nothing_is_left_out_and_counted(others: list[Any], said: str):
    drawn = read_geojson([feature(other) for other in [POLYGON, *others]])
    assert drawn.outline == Outline((READ,))
    assert [said in note for note in drawn.notes] == [True]


def test_hole_of_zero_area_is_left_out_and_counted():
    drawn = read_geojson(polygon(SQUARE, SLIVER, HOLE))
    assert drawn.outline == Outline((READ,))
    assert drawn.notes == ("The region leaves out 1 hole of zero area.",)


def test_feature_without_the_member_geometry_is_left_out():
    drawn = read_geojson([feature(POLYGON), {"type": "Feature", "properties": {}}])
    assert drawn.notes == ("The region leaves out 1 object without a geometry.",)


def test_crossing_ring_is_kept():
    assert read_geojson(polygon(BOW_TIE)).outline.polygons == ((tuple((float(x), float(y)) for x, y in BOW_TIE),),)


def test_open_ring_is_closed_and_counted():
    drawn = read_geojson(polygon(SQUARE[:-1], HOLE))
    assert drawn.outline == Outline((READ,))
    assert drawn.notes == ("The region had 1 ring whose last point is not the first: closed.",)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "an object with a type is missing"),
        ("polygon", "an object with a type is missing"),
        ([POLYGON, [POLYGON]], "In feature 1, an object with a type is missing"),
        ([], "holds no polygon. Draw"),
        ({"type": "Point", "coordinates": [1, 2]}, "holds no polygon: it holds 1 point. Draw"),
        ([feature(LINE), feature(None)], "it holds 1 line and 1 object without a geometry."),
        (polygon(SLIVER), "it holds 1 polygon of zero area"),
        ({}, "not None"),
        ({"type": "Topology", "objects": {}}, "not Topology"),
        ({"type": ["Polygon"]}, "the type must be a Polygon"),
        ([POLYGON, feature({"type": "Circle", "radius": 4})], "In feature 1, the type must be"),
        ({"type": "FeatureCollection", "features": []}, "holds no polygon"),
        ({"type": "FeatureCollection", "features": [feature(POLYGON), feature(5)]}, "In feature 1,"),
        ({"type": "FeatureCollection"}, "the list of features is missing"),
        ({"type": "Polygon"}, "the list of coordinates is missing"),
        (polygon(SQUARE, []), "ring 1, a ring has no points"),
        (polygon(SQUARE, 7), "ring 1, a ring has no points"),
        (polygon([[0, "0"], *SQUARE]), "not a pair of numbers"),
        (polygon([[0], *SQUARE]), "not a pair of numbers"),
        (polygon([5, *SQUARE]), "not a pair of numbers"),
        (polygon(["12", *SQUARE]), "not a pair of numbers"),
        (polygon([{"x": 1}, *SQUARE]), "not a pair of numbers"),
        (polygon([[True, 0], *SQUARE]), "not a pair of numbers"),
        (polygon([[math.nan, 0], *SQUARE]), "farther away"),
        (polygon([*SQUARE, [0, math.nan], SQUARE[0]]), "farther away"),
        (polygon([[math.inf, 0], *SQUARE]), "farther away"),
        (polygon([[10**400, 0], *SQUARE]), "farther away"),
        (polygon([[-2e9, -2e9], [2e9, -2e9], [2e9, 2e9], [-2e9, 2e9], [-2e9, -2e9]]), "farther away"),
        ({"type": "MultiPolygon", "coordinates": [[SQUARE], [5]]}, "polygon 1, ring 0"),
        ({"type": "MultiPolygon", "coordinates": [[SQUARE], 5]}, "polygon 1, a polygon has no rings"),
        ({"type": "MultiPolygon", "coordinates": [[SQUARE]] * 4001}, "20,000 points, also where"),
        (polygon([[0, 0]] * (MAX_POINTS + 1)), "more than 500,000 points"),
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


def staircase(points: int) -> list[list[int]]:
    """As a pixel classifier's areas are: steps of one px."""
    steps = [[(number + 1) // 2, number // 2] for number in range(points - 2)]
    return [*steps, [0, points // 2], [0, 0]]


def test_200_000_points_are_thinned_and_a_note_states_how_far():
    drawn = read_geojson(polygon(staircase(200_000)))
    assert drawn.outline.vertices <= MAX_VERTICES
    assert "thinned from 200,000 to" in drawn.notes[0]
    assert "moved by more than 16 px" in drawn.notes[0]


def test_polygons_that_thinning_would_swallow_are_counted():
    small = [[[9, 9], [10, 9], [10, 10], [9, 10], [9, 9]]]
    drawn = read_geojson({"type": "MultiPolygon", "coordinates": [[staircase(30_000)], small]})
    assert len(drawn.outline.polygons) == 1
    assert "leaves out 1 polygon smaller than what thinning keeps." in drawn.notes[0]


def test_points_that_fit_are_kept_as_they_are():
    ring = staircase(MAX_VERTICES)
    drawn = read_geojson(polygon(ring))
    assert drawn.outline.polygons == ((tuple((float(x), float(y)) for x, y in ring),),)
    assert drawn.notes == ()


NEAR = st.floats(-60, 60, width=32)


@settings(deadline=None)
@given(st.lists(st.tuples(NEAR, NEAR), min_size=3, max_size=30), st.sampled_from(TOLERANCES))
def test_thinned_ring_stays_within_the_tolerance_of_the_ring(points: list[tuple[float, float]], tolerance: float):
    ring = (*points, points[0])
    fewer = thin_ring(ring, tolerance)
    assert fewer[0] == fewer[-1] == ring[0]
    assert {*fewer} <= {*ring}
    for one, other in ((ring, fewer), (fewer, ring)):
        for (ax, ay), (bx, by) in pairwise(one):
            for part in (0, 0.3, 0.5, 1):
                assert _distance(other, ax + (bx - ax) * part, ay + (by - ay) * part) <= tolerance + 1e-4


def _distance(ring: Ring, x: float, y: float) -> float:
    nearest = math.inf
    for (ax, ay), (bx, by) in pairwise(ring):
        size = (bx - ax) ** 2 + (by - ay) ** 2
        along = min(1.0, max(0.0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / size)) if size else 0.0
        nearest = min(nearest, math.dist((x, y), (ax + along * (bx - ax), ay + along * (by - ay))))
    return nearest


NUMBER = st.integers() | st.floats() | st.sampled_from([FARTHEST, -FARTHEST, 2e9, -2e9, 10**400, 5e-324])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "coordinates", "features", "geometry", "geometries"]), inner)
        | st.builds(lambda kind, value: {"type": kind, "coordinates": value}, st.sampled_from(["Polygon"]), inner)
        | st.lists(st.lists(NUMBER, min_size=2, max_size=3), min_size=1, max_size=6).map(polygon)
    ),
    max_leaves=20,
)


@given(JSON)
def test_whatever_comes_is_read_or_refused(value: Any):
    try:
        drawn = read_geojson(value).outline
    except Invalid:
        return
    assert drawn.vertices >= 3
    assert all(abs(number) <= FARTHEST for rings in drawn.polygons for ring in rings for xy in ring for number in xy)
