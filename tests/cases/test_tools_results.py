"""Reports on results in other tools: where objects lie in QuPath, shapes that it refuses, numbers, heatmaps."""

from __future__ import annotations

import csv
import gzip
import io
import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import tifffile

from tests.cases.reported import reported
from tests.wsi.plans import collect_all, inspection, plan, scores_of, shard_results, small_card
from tests.wsi.results.qupath import features
from wsi.planning.plan import Plan
from wsi.records.jobs import JobOptions
from wsi.records.model_card import OutputColumn
from wsi.records.outline import Frame, Outline
from wsi.records.results import ResultFile
from wsi.results import geojson, heatmap, tables
from wsi.results.scored_tiles import ScoredTiles
from wsi.results.sink import Writer
from wsi.results.stitching import stitch
from wsi.slide.mpp import override_mpp

BOUNDS = (650, 130, 900, 640)  #: of what was scanned on a slide of 2000 x 1500 px


def scored(made: Plan) -> ScoredTiles:
    return collect_all(made, shard_results(made, scores_of(made)))


def written(tiles: ScoredTiles, write: Any) -> bytes:
    file = io.BytesIO()
    write(tiles, file)
    return file.getvalue()


def objects(tiles: ScoredTiles, write: Any = geojson.write) -> dict[str, tuple[int, int, int, int]]:
    """The boxes of a GeoJSON by id: left, top, right, bottom."""
    found = features(json.loads(gzip.decompress(written(tiles, write))))
    rings = {each["id"]: each["geometry"]["coordinates"][0] for each in found}
    return {name: (*ring[0], *ring[2]) for name, ring in rings.items()}


class Files:
    """A sink that keeps the files in memory."""

    def __init__(self) -> None:
        self.found: dict[str, bytes] = {}

    def write(self, name: str, media_type: str, writer: Writer) -> Any:
        file = io.BytesIO()
        writer(file)
        self.found[name] = file.getvalue()
        return ResultFile(name=name, key=name, size=file.tell(), sha256="", media_type=media_type)


def mrxs() -> Plan:
    """Of a slide that is tissue where it was scanned, and says what that is."""
    seen = replace(inspection(2000, 1500), bounds=BOUNDS)
    mask = np.zeros((150, 200), np.bool_)
    mask[13:77, 65:155] = True
    return plan(seen, mask=mask, card=small_card())


@reported("qupath#820", "FAST-Pathology#76", "histoplus#23", "CellViT-plus-plus#35", "dlup#160")
def test_objects_lie_where_qupath_shows_the_slide_which_is_cropped() -> None:
    tiles = scored(mrxs())
    left, top, width, height = BOUNDS
    shown, full = objects(tiles), objects(tiles, geojson.write_full)
    assert shown.keys() == full.keys()
    for name, (x0, y0, x1, y1) in full.items():
        cut = (max(x0 - left, 0), max(y0 - top, 0), min(x1 - left, width), min(y1 - top, height))
        assert shown[name] == cut
    assert min(box[0] for box in shown.values()) == min(box[1] for box in shown.values()) == 0
    assert max(box[2] for box in shown.values()) == width


@reported("qupath#820", "pathology-whole-slide-data#44")
def test_both_frames_are_written_where_they_differ_and_the_summary_tells_the_corner() -> None:
    for made, names in ((mrxs(), {geojson.NAME, geojson.FULL_NAME}), (plan(card=small_card()), {geojson.NAME})):
        sink = Files()
        stitch(made, shard_results(made, scores_of(made)), sink, run={})
        assert {name for name in sink.found if "geojson" in name} == names
        said = json.loads(sink.found["summary.json"])["slide"]["bounds"]
        assert said == (list(BOUNDS) if len(names) == 2 else None)


@reported("qupath#1278")
def test_a_region_drawn_in_qupath_comes_back_in_its_place() -> None:
    ring = ((0.0, 0.0), (64.0, 0.0), (64.0, 64.0), (0.0, 64.0), (0.0, 0.0))
    drawn = Outline(((ring,),), Frame.QUPATH)
    made = plan(mrxs().inspection, card=small_card(), options=JobOptions(outline=drawn))
    assert (0, 0) in {box[:2] for box in objects(scored(made)).values()}
    assert (640, 128) in {tuple(tile) for tile in made.tiles.tolist()}
    assert max(made.tiles[:, 0]) < 650 + 64


@reported("tiatoolbox#1080", "NuHTC#9", "NuHTC#10", "HoverFast#7")
@pytest.mark.parametrize("over", [0, 1, 63])
def test_every_shape_is_valid_for_qupath_0_6_also_at_the_edge(over: int) -> None:
    made = plan(inspection(64 * 3 + over, 64 * 2 + over), card=small_card())
    for left, top, right, bottom in objects(scored(made)).values():
        assert 0 <= left < right <= made.inspection.width
        assert 0 <= top < bottom <= made.inspection.height
    for feature in json.loads(gzip.decompress(written(scored(made), geojson.write)))["features"]:
        (ring,) = feature["geometry"]["coordinates"]
        assert ring[0] == ring[-1]
        assert all(one != other for one, other in pairwise(ring))
        assert len({tuple(point) for point in ring}) == 4


@reported("TissUUmaps#49")
def test_objects_name_no_class_without_a_colour_and_no_multipolygon() -> None:
    for feature in json.loads(gzip.decompress(written(scored(plan(card=small_card())), geojson.write)))["features"]:
        assert feature["geometry"]["type"] == "Polygon"
        assert "classification" not in feature["properties"]
        assert "color" not in feature["properties"]


@reported("qupath PR#846", "MuSpAn-Public#21")
def test_measurements_are_numbers_by_name_whatever_the_names_hold() -> None:
    names = ("prob_a,b", 'prob_"x"', "prob_=1+1", "prob_κ–λ")
    card = small_card(columns=tuple(OutputColumn(name=name) for name in names))
    tiles = scored(plan(card=card))
    for feature in features(json.loads(gzip.decompress(written(tiles, geojson.write)))):
        assert tuple(feature["properties"]["measurements"]) == names
    rows = csv.DictReader(io.StringIO(written(tiles, tables.write).decode()))
    assert tuple(rows.fieldnames or ())[4:] == names


@reported("qupath#1045", "qupath PR#1784")
def test_numbers_keep_every_digit_and_no_exponent_is_lost() -> None:
    made = plan(inspection(64, 64), card=small_card(columns=(OutputColumn(name="a"), OutputColumn(name="b"))))
    values = np.array([[1.2345678e-7, 0.1]], dtype=np.float32)
    (row,) = csv.DictReader(io.StringIO(written(collect_all(made, shard_results(made, values)), tables.write).decode()))
    assert (np.float32(row["a"]), np.float32(row["b"])) == (values[0, 0], values[0, 1])


@reported("qupath#591", "ijp-imagetoatlas#103", "ijp-imagetoatlas#145")
def test_the_heatmap_has_the_scale_that_the_user_stated() -> None:
    made = plan(override_mpp(inspection(mpp=None), 0.25), card=small_card(mpp=0.5))
    with tifffile.TiffFile(io.BytesIO(written(scored(made), heatmap.write))) as file:
        assert file.ome_metadata is not None
        assert f'PhysicalSizeX="{64 * 0.5!r}"' in file.ome_metadata


@reported("CellViT#30", "hover_net#297")
def test_no_tile_of_the_mask_is_missing_among_the_results() -> None:
    made = plan(inspection(64 * 9 + 5, 64 * 7), card=small_card(), shard_tiles=5)
    boxes = {box[:2] for box in objects(scored(made)).values()}
    assert boxes == {(64 * column, 64 * row) for column in range(10) for row in range(7)}


@reported("instanseg#93")
def test_tiles_of_another_size_lie_on_the_same_tissue() -> None:
    mask = np.zeros((64, 64), np.bool_)
    mask[16:32, 16:48] = True
    for side in (64, 128, 256):
        made = plan(inspection(4096, 4096), mask=mask, card=replace(small_card(), tile_px=side))
        xs, ys = made.tiles.T
        assert (xs.min(), xs.max() + made.grid.side, ys.min(), ys.max() + made.grid.side) == (1024, 3072, 1024, 2048)


@reported("TRIDENT#170")
def test_a_slide_without_tissue_gives_whole_files_without_rows() -> None:
    made = plan(mask=np.zeros((5, 5), np.bool_), card=small_card())
    sink = Files()
    stitch(made, (), sink, run={})
    assert json.loads(gzip.decompress(sink.found[geojson.NAME]))["features"] == []
    assert len(sink.found["tiles.csv"].decode().splitlines()) == 1
    with tifffile.TiffFile(io.BytesIO(sink.found["heatmap.ome.tif"])) as file:
        assert not file.asarray().any()
