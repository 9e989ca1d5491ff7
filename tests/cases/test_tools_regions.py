"""Reports on drawn regions: GeoJSON as other tools write it, holes, mixed objects, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tessera.local_run.inputs import UsageError
from tessera.local_run.regions import read_region
from tests.cases.case import PROGRAMMERS_WORDS
from tests.cases.reported import reported
from tests.wsi.plans import inspection, plan, small_card
from wsi.records.jobs import JobOptions
from wsi.records.outline import Frame, Outline

SQUARE = [[64, 64], [256, 64], [256, 256], [64, 256], [64, 64]]
HOLE = [[128, 128], [192, 128], [192, 192], [128, 192], [128, 128]]


def feature(coordinates: Any, kind: str = "Polygon", **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates}, "properties": properties}


def collection(*features: Any, **more: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", **more, "features": list(features)}


def drawn(folder: Path, value: Any) -> tuple[Outline, list[str]]:
    """What is read from a file of the value, and what was told of it."""
    path, notes = folder / "region.geojson", list[str]()
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return read_region(path, Frame.FULL, on_note=notes.append), notes


def refused(folder: Path, value: Any) -> str:
    with pytest.raises(UsageError) as caught:
        drawn(folder, value)
    assert not PROGRAMMERS_WORDS.search(str(caught.value))
    return str(caught.value)


def tiles(outline: Outline) -> set[tuple[int, int]]:
    """Of a slide of 512 px in tiles of 64 px."""
    made = plan(inspection(512, 512), card=small_card(), options=JobOptions(outline=outline))
    return {(x, y) for x, y in made.tiles.tolist()}


WHOLE = {(x, y) for x in (64, 128, 192) for y in (64, 128, 192)}


@reported("TRIDENT#96", "TRIDENT#87")
def test_contours_of_trident_are_a_region(tmp_path: Path) -> None:
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3857"}}
    value = collection(feature([SQUARE], tissue_id=0), name="TCGA-05-4249", crs=crs)
    assert tiles(drawn(tmp_path, value)[0]) == WHOLE


@reported("digital_slide_archive#410")
def test_the_smallest_export_of_qupath_is_a_region(tmp_path: Path) -> None:
    value = collection({**feature([SQUARE], objectType="annotation"), "id": "a9eec0da-3a6e-4388-8f7d-9ca2240eb183"})
    assert tiles(drawn(tmp_path, value)[0]) == WHOLE


@reported("TRIDENT#77", "TRIDENT PR#112")
def test_a_hole_is_not_analysed(tmp_path: Path) -> None:
    outline, _ = drawn(tmp_path, collection(feature([SQUARE, HOLE])))
    assert tiles(outline) == WHOLE - {(128, 128)}


@reported("CellViT#94", "pathology-whole-slide-data#41")
def test_cells_of_qupath_are_read_by_their_outline_and_not_their_nucleus(tmp_path: Path) -> None:
    cell = feature([SQUARE], objectType="cell", classification={"name": "Tumor", "color": [200, 0, 0]})
    cell["nucleusGeometry"] = {"type": "Polygon", "coordinates": [HOLE]}
    assert tiles(drawn(tmp_path, [cell])[0]) == WHOLE


@reported("LazySlide#275")
def test_points_for_calibration_beside_a_region_are_left_out_and_counted(tmp_path: Path) -> None:
    points = [feature([k, k], "Point", name=f"Calib {k}") for k in (1, 2, 3)]
    outline, notes = drawn(tmp_path, collection(*points, feature([SQUARE])))
    assert tiles(outline) == WHOLE
    assert any("3" in note for note in notes)


@reported("spatialdata-plot#430")
def test_a_polygon_that_is_nested_as_several_is_read_or_refused_by_its_place(tmp_path: Path) -> None:
    sentence = refused(tmp_path, collection(feature([[SQUARE]])))
    assert "feature 0" in sentence


@reported("TissUUmaps#49")
def test_a_multipolygon_of_one_is_read_and_an_open_ring_is_closed_and_told(tmp_path: Path) -> None:
    assert tiles(drawn(tmp_path, collection(feature([[SQUARE]], "MultiPolygon")))[0]) == WHOLE
    outline, notes = drawn(tmp_path, collection(feature([SQUARE[:4]])))
    assert tiles(outline) == WHOLE
    assert any("closed" in note for note in notes)


@reported("HistoQC PR#180", "dlup#160", "wsidicomizer#56")
@pytest.mark.parametrize(
    "text",
    [
        b'<?xml version="1.0"?>\n<ASAP_Annotations><Annotations/></ASAP_Annotations>',
        b'<Annotations MicronsPerPixel="0.25"><Annotation Id="1"/></Annotations>',
    ],
    ids=["ASAP", "ImageScope"],
)
def test_annotations_as_xml_are_told_to_be_exported_as_geojson(tmp_path: Path, text: bytes) -> None:
    sentence = refused(tmp_path, text)
    assert "GeoJSON" in sentence
    assert "Expecting value" not in sentence


@reported("Cytomine-IMS#32", "raster-foundry#4065")
@pytest.mark.parametrize("value", [b"", b"\x89PNG\r\n", b"not json", {"a": 1}, 5, "text", None])
def test_a_file_that_is_no_region_is_refused_and_never_silently(tmp_path: Path, value: Any) -> None:
    assert "region.geojson" in refused(tmp_path, value)


@reported("enact-pipeline#45")
def test_a_region_with_x_and_y_exchanged_misses_the_slide_and_is_told_so(tmp_path: Path) -> None:
    from wsi.errors import JobFailed

    wide = [[1000, 10], [1200, 10], [1200, 100], [1000, 100], [1000, 10]]
    outline, _ = drawn(tmp_path, feature([[[y, x] for x, y in wide]]))
    with pytest.raises(JobFailed, match="misses the slide of 2000 x 300 px"):
        plan(inspection(2000, 300), card=small_card(), options=JobOptions(outline=outline))


@reported("qupath PR#562", "qupath#549")
def test_what_tools_add_to_a_geometry_is_passed_over(tmp_path: Path) -> None:
    value = feature([SQUARE], objectType="annotation", isLocked=True, metadata={"a": "b"})
    value["geometry"] |= {"plane": {"c": -1, "z": 0, "t": 0}, "isEllipse": True}
    assert tiles(drawn(tmp_path, value | {"bbox": [64, 64, 256, 256]})[0]) == WHOLE


@reported("HistomicsTK#977")
def test_thousands_of_small_shapes_are_one_region(tmp_path: Path) -> None:
    shapes = [
        feature([[[x, y], [x + 8, y], [x + 8, y + 8], [x, y + 8], [x, y]]])
        for x in range(64, 256, 8)
        for y in range(64, 256, 8)
    ]
    assert tiles(drawn(tmp_path, collection(*shapes))[0]) == WHOLE
