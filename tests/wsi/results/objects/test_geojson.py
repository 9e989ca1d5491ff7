from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from dataclasses import replace
from typing import IO, Any

import numpy as np
import pytest
import shapely

from tests.wsi.objects.drawing import draw_objects
from tests.wsi.plans import inspection
from tests.wsi.results.objects.drawn import LATTICE, cut, found_objects
from tests.wsi.results.qupath import objects
from wsi.objects.measurements import AREA, compute_measurements
from wsi.objects.table import ObjectTable, PixelLattice
from wsi.results.objects import geojson
from wsi.results.objects.geojson import CHANCE_PLACES, SHAPE_PLACES, write, write_full
from wsi.results.objects.slide_objects import SlideObjects

PLAIN = PixelLattice(step_x=2.0, step_y=2.0, mpp_x=0.25, mpp_y=0.25)


def to_bytes(found: SlideObjects, writer: Callable[[SlideObjects, IO[bytes]], None] = write) -> bytes:
    file = io.BytesIO()
    writer(found, file)
    return file.getvalue()


def features_of(found: SlideObjects, writer: Callable[[SlideObjects, IO[bytes]], None] = write) -> list[dict[str, Any]]:
    return objects(json.loads(gzip.decompress(to_bytes(found, writer))))


@pytest.mark.parametrize("classes", [("Nucleus",), ('Tumour "A"', "Stroma é", "Other: one")])
def test_qupath_takes_every_object(classes: tuple[str, ...]) -> None:
    table = draw_objects(60, classes=len(classes), spread=500, holes=True)
    found = features_of(found_objects([table], classes=classes))
    assert len(found) == len(table)
    properties = [feature["properties"] for feature in found]
    assert {each["objectType"] for each in properties} == {"detection"}
    assert [each["classification"]["name"] for each in properties] == [classes[k] for k in table.classes]


def test_polygons_are_valid_with_their_holes() -> None:
    table = draw_objects(60, spread=500, holes=True)
    shapes = [shapely.geometry.shape(feature["geometry"]) for feature in features_of(found_objects([table]))]
    assert all(shape.is_valid for shape in shapes)
    assert [1 + len(shape.interiors) for shape in shapes] == np.diff(table.first_rings).tolist()
    areas = [shape.area * LATTICE.mpp_x**2 for shape in shapes]
    assert areas == pytest.approx(compute_measurements(table, LATTICE, ("Nucleus",))[AREA], rel=1e-3)


def test_coordinates_are_vertices_times_half_a_step_to_the_hundredth() -> None:
    table = draw_objects(5, spread=500)
    rings = [feature["geometry"]["coordinates"][0] for feature in features_of(found_objects([table]))]
    vertices = np.array(rings)[:, :-1].reshape(-1, 2)
    assert vertices.tolist() == np.round(table.vertices * (1.9873 / 2), 2).tolist()


def test_measurements_are_rounded() -> None:
    table = draw_objects(20, classes=3, spread=500)
    classes = ("a", "b", "c")
    found = features_of(found_objects([table], classes=classes))
    for name, values in compute_measurements(table, LATTICE, classes).items():
        places = CHANCE_PLACES if "robability" in name else SHAPE_PLACES
        written = [feature["properties"]["measurements"][name] for feature in found]
        assert written == np.round(values.astype(np.float64), places).tolist()


@pytest.mark.parametrize("rows", [1, 7, 30, 60])
def test_the_size_of_blocks_changes_no_byte(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geojson, "ROWS", 25)
    table = draw_objects(60, spread=500, holes=True)
    assert to_bytes(found_objects(cut(table, rows))) == to_bytes(found_objects([table]))


def test_the_gzip_header_holds_neither_time_nor_name() -> None:
    data = to_bytes(found_objects())
    assert data[3] == 0  # FLG: no FNAME, no FCOMMENT
    assert data[4:8] == b"\0\0\0\0"  # MTIME


def test_no_object_is_a_valid_empty_collection() -> None:
    assert features_of(found_objects([])) == []
    assert features_of(found_objects([ObjectTable.make_empty()])) == []


def test_ids_belong_to_the_plan_and_the_objects_point() -> None:
    table = draw_objects(30, spread=500)
    other = found_objects([table], seen=inspection(mpp=0.499))
    backwards = found_objects([table.select(np.arange(30)[::-1])])
    ids = [[feature["id"] for feature in features_of(found)] for found in (found_objects([table]), backwards, other)]
    assert ids[0] == ids[1][::-1]
    assert not {*ids[0]} & {*ids[2]}


def test_a_cropped_slide_has_both_frames() -> None:
    cropped = replace(inspection(2000, 1500), bounds=(400, 300, 900, 800))
    table = draw_objects(200, spread=800)
    found = found_objects([table], seen=cropped, lattice=PLAIN)
    whole = {feature["id"]: np.array(feature["geometry"]["coordinates"]) for feature in features_of(found, write_full)}
    shown = {feature["id"]: np.array(feature["geometry"]["coordinates"]) for feature in features_of(found)}
    assert 0 < len(shown) < len(whole)
    assert all(np.array_equal(whole[name] - [400, 300], ring) for name, ring in shown.items())
    inside = shapely.box(400, 300, 1300, 1100)
    touching = {
        name for name, ring in whole.items() if shapely.box(*ring[0].min(0), *ring[0].max(0)).intersects(inside)
    }
    assert {*shown} <= touching


def test_an_object_past_the_images_edge_keeps_its_shape_and_one_outside_is_left_out() -> None:
    table = draw_objects(2, spread=10)
    vertices = table.vertices.copy()
    vertices[:40] += [300, 0] - vertices[:40].mean(axis=0, dtype=np.int64).astype(np.int32)  # around x 300, y 0
    vertices[40:] += [300, -300] - vertices[40:].mean(axis=0, dtype=np.int64).astype(np.int32)
    (found,) = features_of(found_objects([replace(table, vertices=vertices)], lattice=PLAIN), write_full)
    ring = found["geometry"]["coordinates"][0]
    assert ring[:-1] == vertices[:40].tolist()
    assert min(y for _, y in ring) < 0
