"""Objects of files as QuPath, CellViT, geopandas and others write them."""

from __future__ import annotations

import io
import json
from typing import Any

import geopandas
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wsi.given.files import feature, square, write_cellvit, write_points, write_qupath
from wsi.errors import Invalid
from wsi.given import objects as objects_module
from wsi.given.objects import GivenObjects
from wsi.given.reading import read_objects
from wsi.records.outline import Frame

CENTRES = [(100.0, 50.0), (20.5, 30.25), (400.0, 10.0)]


def read(data: bytes | Any) -> GivenObjects:
    return read_objects(data if isinstance(data, bytes) else json.dumps(data).encode(), Frame.FULL)


@pytest.mark.parametrize(
    "data",
    [
        write_qupath(CENTRES),
        write_qupath(CENTRES, nan=True),
        write_qupath(CENTRES).decode().encode("utf-16"),
        write_cellvit({"Neoplastic": CENTRES[:2], "Connective": CENTRES[2:]}),
        write_points(CENTRES, together=True),
        write_points(CENTRES, together=False),
        json.dumps({"type": "MultiPoint", "coordinates": CENTRES}).encode(),
        json.dumps(
            {"features": [feature("Point", [*one, 3]) for one in CENTRES], "type": "FeatureCollection"}
        ).encode(),
        json.dumps(json.loads(write_qupath(CENTRES)), indent=2).encode(),
    ],
)
def test_objects_come_in_the_order_of_the_file_with_their_centres(data: bytes) -> None:
    found = read(data)
    np.testing.assert_allclose(found.centres, CENTRES)
    assert len(set(found.ids)) == len(found) == len(CENTRES)
    parts = list(found.iterate_features())
    assert [shapely.geometry.shape(part["geometry"]).centroid.coords[0] for part in parts] == CENTRES


def test_ids_of_the_file_are_kept_and_those_of_several_parts_are_replaced() -> None:
    assert read(write_qupath(CENTRES)).ids[1] == "0d3a6a4e-6f6f-4f4e-9b57-000000000001"
    numbered = read([feature("Point", [1, 2], id=7), feature("Point", [1, 3], id="7"), feature("Point", [1, 4], id=8)])
    assert numbered.ids[2] == "8"
    assert len(set(numbered.ids)) == 3
    split = read(write_cellvit({"A": CENTRES}))
    assert len(set(split.ids)) == 3
    assert split.ids == read(write_cellvit({"A": CENTRES})).ids
    assert split.notes == ("1 feature has 3 polygons or points: each of these is an object.",)


def test_a_part_of_a_feature_is_a_detection_with_the_class_of_the_feature() -> None:
    parts = list(read(write_cellvit({"A": CENTRES[:2], "B": CENTRES[2:]})).iterate_features())
    assert [part["properties"]["classification"]["name"] for part in parts] == ["A", "A", "B"]
    assert {part["properties"]["objectType"] for part in parts} == {"detection"}
    assert {part["geometry"]["type"] for part in parts} == {"Polygon"}


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(-500, 500), st.integers(-500, 500)), min_size=3, max_size=9, unique=True),
    st.integers(0, 200_000),
)
def test_centres_are_the_centroids_of_what_outlines_enclose(points: list[tuple[int, int]], offset: int) -> None:
    hull = shapely.convex_hull(shapely.MultiPoint(np.array(points) + offset))
    if hull.geom_type != "Polygon":
        return
    found = read([feature("Polygon", [list(map(list, hull.exterior.coords))])])
    np.testing.assert_allclose(found.centres[0], hull.centroid.coords[0], atol=1e-6)


def test_an_outline_whose_halves_cancel_has_the_middle_of_its_box() -> None:
    bow_tie = [[[0, 0], [10, 10], [10, 0], [0, 10], [0, 0]]]
    np.testing.assert_array_equal(read([feature("Polygon", bow_tie)]).centres, [[5, 5]])


def test_a_hole_does_not_move_the_centre() -> None:
    outer, hole = square(50, 50, 20)[0], square(40, 40, 5)[0]
    np.testing.assert_allclose(read([feature("Polygon", [outer, hole])]).centres, [[50, 50]])


def test_what_is_no_object_is_left_out_with_a_count() -> None:
    flat = [[[0, 0], [10, 10], [5, 5], [0, 0]]]
    found = read(
        [
            feature("Polygon", flat),
            feature("LineString", [[0, 0], [1, 1]]),
            {"type": "Feature", "geometry": None, "properties": None},
            feature("Polygon", []),
            feature("Point", [4, 5]),
            feature("Polygon", square(9, 9), properties={"childObjects": [feature("Point", [9, 9])]}),
        ]
    )
    np.testing.assert_array_equal(found.centres, [[4, 5], [9, 9]])
    assert [part["geometry"]["type"] for part in found.iterate_features()] == ["Point", "Polygon"]
    assert found.notes == (
        "The file of objects also holds 1 line, 2 objects without a geometry, 1 outline without area: left out.",
        "1 of the objects hold others, which are not analysed: export them flat.",
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is not JSON: it ends early"),
        (b'{"type": "FeatureCollection", "features": [', "at line 1, column 44"),
        (b'[{"type": "Point", "coordinates": [1, 2]}', "is not JSON"),
        (b'[{"type": "Point", "coordinates": [1, 2]}] x', "is not JSON"),
        (b'{"type": "FeatureCollection", "features": [] "a": 1}', "is not JSON"),
        (b"[" * 100_000, "is not JSON: it holds a number too long or lists too deep"),
        (b"\x89HDF\r\n\x1a\n\xff\xfe", "is not text in UTF-8"),
        (b'{"a": 1}', "The file is JSON, but no GeoJSON"),
        (b"3", "The file is JSON, but no GeoJSON"),
        (b"[]", "The file holds no object. Export cells"),
        (b'{"type": "FeatureCollection", "features": []}', "The file holds no object."),
        ([feature("LineString", [[0, 0], [1, 1]])], "The file holds no object: it holds 1 line."),
        ([3], "In feature 0, an object with a type is missing"),
        ([feature("Circle", [1])], "In feature 0, the type must be a Polygon or a Point, or hold them, not Circle."),
        ([feature("Polygon", [[[0, 0], [1], [2, 2], [0, 0]]])], "a point is not a pair of numbers"),
        ([feature("Polygon", [[["0", "0"], ["1", "1"], ["2", "2"]]])], "a point is not a pair of numbers"),
        ([feature("Point", [True, False])], "a point is not a pair of numbers"),
        ([feature("Point", None)], "a point is not a pair of numbers"),
        (b'[{"type": "Point", "coordinates": [NaN, 2]}]', "a point is not a pair of numbers"),
        (b'[{"type": "Point", "coordinates": [1e999, 2]}]', "farther away than any slide reaches"),
        ([feature("Point", [1, 2]), feature("Point", [1, 2**25])], "In feature 1, a point lies farther away"),
        (b"PAR1 and nothing else", "The file is damaged, or no Parquet that can be read"),
    ],
)
def test_what_holds_no_objects_is_refused_with_a_sentence(data: bytes | Any, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        read(data)
    assert said in caught.value.sentence


def test_too_many_objects_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wsi.given.collecting.MAX_OBJECTS", 2)
    assert objects_module.MAX_OBJECTS >= 1_000_000
    with pytest.raises(Invalid, match="more than 2 objects"):
        read(write_points(CENTRES, together=False))


SHAPES = [
    shapely.Polygon(square(100, 50)[0]),
    shapely.MultiPolygon([shapely.Polygon(square(1, 2)[0]), shapely.Polygon(square(3, 4)[0], [square(3, 4, 1)[0]])]),
    shapely.Point(7, 8),
    shapely.MultiPoint([(9, 10)]),
    shapely.Point(1, 2, 3),
    shapely.GeometryCollection([shapely.Point(5, 6)]),
]


def write_parquet(shapes: list[Any], **columns: Any) -> bytes:
    file = io.BytesIO()
    geopandas.GeoDataFrame(columns, geometry=shapes).to_parquet(file)
    return file.getvalue()


def test_geoparquet_of_geopandas_is_read_with_ids_classes_and_measurements() -> None:
    data = write_parquet(SHAPES, id=list("abcdef"), **{"class": ["T", None] * 3}, area=[1.5] * 6, x=[0.0] * 6)
    found = read(data)
    np.testing.assert_allclose(found.centres, [[100, 50], [1, 2], [3, 4], [7, 8], [9, 10], [1, 2], [5, 6]])
    assert (found.ids[0], found.ids[3]) == ("a", "c")
    first = next(found.iterate_features())
    assert first["properties"] == {
        "objectType": "detection",
        "classification": {"name": "T"},
        "measurements": {"area": 1.5},
    }
    assert len(list(found.iterate_features())) == len(found)


@pytest.mark.parametrize("flavour", ["extended", "iso"])
@pytest.mark.parametrize("order", [0, 1])
def test_well_known_binary_of_any_kind_is_read(flavour: Any, order: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for shape in (*SHAPES, shapely.set_srid(shapely.Point(1, 2, 3), 4326)):
        data = shapely.to_wkb(shape, byte_order=order, flavor=flavour, include_srid=flavour == "extended")
        file = io.BytesIO()
        pq.write_table(pa.table({"geometry": [data]}), file)
        parts = read(file.getvalue()).iterate_features()
        kinds = getattr(shape, "geoms", [shape])
        assert [part["geometry"] for part in parts] == [
            json.loads(shapely.to_geojson(shapely.force_2d(each))) for each in kinds
        ]


def test_parquet_without_outlines_is_refused() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for table, said in (
        (pa.table({"a": [1]}), "Parquet without outlines or points"),
        (pa.table({"geometry": ["POINT (1 2)"]}), "holds no geometries that can be read"),
        (pa.table({"geometry": [b"\x01\x03\x00"]}), "is not Well-Known Binary"),
        (pa.table({"geometry": pa.array([None], pa.binary())}), "it holds 1 object without a geometry"),
    ):
        file = io.BytesIO()
        pq.write_table(table, file)
        with pytest.raises(Invalid) as caught:
            read(file.getvalue())
        assert said in caught.value.sentence
