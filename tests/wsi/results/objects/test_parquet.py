from __future__ import annotations

import io
import json
from dataclasses import replace

import geopandas as gpd
import numpy as np
import pyarrow.parquet as pq
import pytest
import shapely

from tests.wsi.objects.drawing import draw_objects
from tests.wsi.plans import inspection
from tests.wsi.results.objects.drawn import LATTICE, cut, found_objects
from tests.wsi.results.objects.test_geojson import features_of
from wsi.objects.measurements import compute_measurements
from wsi.objects.ordering import order_tiles_in_space
from wsi.objects.table import ObjectTable
from wsi.results.objects import parquet
from wsi.results.objects.geojson import write_full
from wsi.results.objects.slide_objects import SlideObjects


def written(found: SlideObjects) -> io.BytesIO:
    file = io.BytesIO()
    parquet.write(found, file)
    file.seek(0)
    return file


def test_geopandas_reads_the_polygons_of_the_geojson() -> None:
    table = draw_objects(60, spread=500, holes=True)
    found = found_objects([table])
    frame = gpd.read_parquet(written(found))
    assert frame.crs is None
    assert frame.geometry.is_valid.all()
    shapes = [shapely.geometry.shape(feature["geometry"]) for feature in features_of(found, write_full)]
    assert shapely.equals_exact(frame.geometry.to_numpy(), np.array(shapes)).all()
    assert np.array_equal(frame[["x", "y"]], np.round(table.centroids * LATTICE.step_x, 2))
    assert frame["tile"].tolist() == table.tiles.tolist()


def test_columns_have_qupaths_names_and_full_precision() -> None:
    classes = ("Tumour", "Stroma", "Stroma é")
    table = draw_objects(60, classes=3)
    frame = gpd.read_parquet(written(found_objects([table], classes=classes)))
    assert frame["class"].dtype == "category"
    assert frame["class"].tolist() == [classes[number] for number in table.classes]
    assert frame["class"].cat.categories.tolist() == list(classes)
    measured = compute_measurements(table, LATTICE, classes)
    assert np.array_equal(frame["probability"], measured.pop("Detection probability"))
    for name, values in measured.items():
        assert np.array_equal(frame[name], values.astype(np.float32)), name


def test_metadata_are_those_of_geoparquet_and_of_the_plan() -> None:
    cropped = replace(inspection(2000, 1500), bounds=(400, 300, 900, 800))
    found = found_objects([draw_objects(60, spread=500)], seen=cropped)
    file = pq.ParquetFile(written(found))
    geo = json.loads(file.metadata.metadata[b"geo"])
    column = geo["columns"]["geometry"]
    assert (geo["version"], geo["primary_column"]) == ("1.1.0", "geometry")
    assert (column["encoding"], column["geometry_types"]) == ("WKB", ["Polygon"])
    assert (column["crs"], column["edges"]) == (None, "planar")
    frame = gpd.read_parquet(written(found))
    assert column["bbox"] == frame.total_bounds.tolist()
    ours = json.loads(file.metadata.metadata[b"tessera"])
    assert ours["plan"] == found.plan.digest
    assert ours["qupath_corner"] == [400, 300]
    assert ours["mpp"] == [LATTICE.mpp_x, LATTICE.mpp_y]
    assert not file.schema_arrow.pandas_metadata


def test_row_groups_tell_where_their_objects_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS", 50)
    table = draw_objects(400, spread=2000)
    file = written(found_objects([table.select(order_tiles_in_space(table.points))]))
    groups = pq.ParquetFile(file).metadata
    paths = [groups.row_group(0).column(number).path_in_schema for number in range(groups.num_columns)]
    assert groups.num_row_groups == 8
    xmin = [groups.row_group(group).column(paths.index("bbox.xmin")).statistics for group in range(8)]
    frame = gpd.read_parquet(file)
    assert [each.min for each in xmin] == frame.bounds.minx.groupby(np.arange(400) // 50).min().tolist()
    area = (1000.0, 1000.0, 2000.0, 1800.0)
    inside = gpd.read_parquet(file, bbox=area)
    assert 0 < len(inside) < 400
    assert len(inside) == frame.geometry.envelope.intersects(shapely.box(*area)).sum()


@pytest.mark.parametrize("rows", [1, 7, 30, 60])
def test_the_size_of_blocks_changes_no_byte(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS", 25)
    table = draw_objects(60, spread=500, holes=True)
    assert written(found_objects(cut(table, rows))).getvalue() == written(found_objects([table])).getvalue()


def test_no_object_is_a_table_without_rows() -> None:
    for blocks in ([], [ObjectTable.make_empty()]):
        frame = gpd.read_parquet(written(found_objects(blocks)))
        assert len(frame) == 0
        assert "Max diameter µm" in frame.columns


def test_the_file_stays_open_for_the_sink() -> None:
    file = written(found_objects())
    assert not file.closed
