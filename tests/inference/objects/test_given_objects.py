"""Objects of a file, scored and embedded: from pixels to files."""

from __future__ import annotations

import csv
import gzip
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import geopandas
import h5py
import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from inference.models.stains.density import StainDensity, measure_densities
from inference.pipeline import run_shard
from tests.inference.cases import DamagedReader, open_path, whole_plan
from tests.inference.objects.drawn_discs import Disc, FindsDiscs, draw_discs, drawn_card, write_picture
from tests.wsi.given.files import write_cellvit, write_points, write_qupath
from tests.wsi.results.qupath import find_faults
from wsi.errors import JobFailed
from wsi.given.objects import GivenObjects
from wsi.given.reading import read_objects
from wsi.inspection.examination import Examination
from wsi.inspection.mask import SlideMask
from wsi.jobs.planning import make_plan
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import Numerics, Plan
from wsi.records.jobs import JobOptions
from wsi.records.model_card import Boxes, ModelCard, OutputColumn, OutputKind
from wsi.records.outline import Frame
from wsi.records.outputs import EmbeddingOutput
from wsi.results.shard_result import ShardResult
from wsi.results.sink import FolderSink
from wsi.results.stitching import stitch
from wsi.slide.slide import SlideReader

WIDTH, HEIGHT, SIDE = 420, 300, 64
CARD = replace(STAIN_DENSITY, tile_px=SIDE, input_px=SIDE, batch=4)
CELLS = replace(
    CARD,
    name="cells",
    output=OutputKind.CLASSIFICATION,
    columns=(OutputColumn(name="prob_Light"), OutputColumn(name="prob_Dark", title="Dark cell")),
)
ENCODER = replace(
    CARD,
    name="encoder",
    output=OutputKind.EMBEDDING,
    columns=(),
    embedding=EmbeddingOutput(dimensions=3, pooling="mean"),
)


class MeansOf:
    """A model whose numbers are means of the colours of what it gets."""

    def __init__(self, card: ModelCard) -> None:
        self.card = card

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        means = pixels.mean(axis=(1, 2), dtype=np.float64).astype(np.float32)
        red = means[:, :1] / 255
        return means if self.card.embedding is not None else np.concatenate([red, 1 - red], axis=1)


@pytest.fixture(scope="module")
def picture() -> NDArray[np.uint8]:
    rng = np.random.default_rng(7)
    places = [(float(x), float(y)) for y in range(20, HEIGHT - 15, 50) for x in range(20, WIDTH - 15, 55)]
    drawn = draw_discs(WIDTH, HEIGHT, [Disc(x, y, float(rng.uniform(8, 14))) for x, y in places])
    return np.minimum(drawn, rng.integers(120, 256, drawn.shape, np.uint8))


@pytest.fixture(scope="module")
def reader(picture: NDArray[np.uint8], tmp_path_factory: pytest.TempPathFactory) -> SlideReader:
    return open_path(write_picture(tmp_path_factory.mktemp("given") / "discs.tiff", picture, mpp=0.5))


@pytest.fixture(scope="module")
def found(reader: SlideReader, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of ours that found the discs."""
    folder = tmp_path_factory.mktemp("found")
    card = drawn_card(352)
    plan = whole_plan(reader, card=card, batch=3)
    results = [run_shard(plan, index, reader, FindsDiscs(plan.card), stop=threading.Event()) for index in range(1)]
    stitch(plan, results, FolderSink(folder), run={})
    return folder


def read(data: bytes, frame: Frame = Frame.FULL) -> GivenObjects:
    return read_objects(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data, frame)


def plan_of(
    reader: SlideReader,
    objects: GivenObjects,
    card: ModelCard = CARD,
    *,
    shard_tiles: int = 1000,
    bounds: tuple[int, int, int, int] | None = None,
) -> Plan:
    seen = replace(reader.inspection, tissue_fraction=1.0, bounds=bounds)
    return make_plan(
        slide_digest="0" * 64 + "-1",
        slide_uris=[("slide.tiff", "memory", "1")],
        reader=reader,
        examination=Examination(inspection=seen, thumbnail_jpeg=b"", mask=SlideMask(np.ones((16, 16), bool))),
        card=card,
        package_uri=None,
        options=JobOptions(objects=objects.as_option()),
        shard_tiles=shard_tiles,
        threads=1,
        objects=objects,
    )


def analyse(folder: Path, reader: SlideReader, objects: GivenObjects, card: ModelCard = CARD, **options: Any) -> Path:
    plan = Plan.from_bytes(plan_of(reader, objects, card, **options).to_bytes())
    model = StainDensity(card) if card.output is OutputKind.REGRESSION else MeansOf(card)
    results = [run_shard(plan, index, reader, model, stop=threading.Event()) for index in range(len(plan.shard_sizes))]
    stitch(
        plan, [ShardResult.from_bytes(each.to_bytes()) for each in results], FolderSink(folder), run={}, given=objects
    )
    return folder


def features_in(folder: Path, name: str = "objects.geojson.gz") -> list[dict[str, Any]]:
    collection = json.loads(gzip.decompress((folder / name).read_bytes()))
    assert list(find_faults(collection)) == []
    return collection["features"]


def cut(picture: NDArray[np.uint8], centre: Sequence[float]) -> NDArray[np.uint8]:
    """The model's box around a point, white past the edge: cut out of the picture itself."""
    padded = np.pad(picture, ((SIDE, SIDE), (SIDE, SIDE), (0, 0)), constant_values=255)
    x, y = (int(np.floor(place - SIDE / 2 + 0.5)) + SIDE for place in centre)
    return padded[y : y + SIDE, x : x + SIDE]


def test_each_nucleus_of_ours_gets_the_densities_of_its_own_box(
    reader: SlideReader, picture: NDArray[np.uint8], found: Path, tmp_path: Path
) -> None:
    before = json.loads(gzip.decompress((found / "objects.geojson.gz").read_bytes()))["features"]
    assert len(before) > 30
    objects = read((found / "objects.geojson.gz").read_bytes())
    after = features_in(analyse(tmp_path, reader, objects))
    table = geopandas.read_parquet(tmp_path / "objects.parquet")
    names = [column.name for column in CARD.columns]
    assert len(after) == len(before) == len(table)
    for one, other, row in zip(before, after, table.to_dict("records"), strict=True):
        expected = measure_densities(
            cut(picture, shapely.Polygon(one["geometry"]["coordinates"][0]).centroid.coords[0])
        )
        measured = other["properties"].pop("measurements")
        assert [measured.pop(name) for name in names] == [float(str(value)) for value in expected]
        assert measured == one["properties"].pop("measurements")
        assert one == other  # geometry, id, class and all else
        assert [row[name] for name in names] == expected.tolist()
        assert (row["object"], row["class"], row["given_class"]) == (one["id"], "Disc", "Disc")
        assert shapely.equals_exact(row["geometry"], shapely.geometry.shape(one["geometry"]))


def test_geojson_and_parquet_of_one_run_give_the_same_numbers(reader: SlideReader, found: Path, tmp_path: Path) -> None:
    tables = []
    for name in ("objects.geojson.gz", "objects.parquet"):
        folder = analyse(tmp_path / name, reader, read((found / name).read_bytes()))
        rows = geopandas.read_parquet(folder / "objects.parquet")
        tables.append({(row["x"], row["y"]): row["eosin_od"] for row in rows.to_dict("records")})
    assert tables[0] == tables[1]
    chained = read((tmp_path / "objects.geojson.gz" / "objects.parquet").read_bytes())
    np.testing.assert_allclose(chained.centres, list(tables[0]))


@pytest.mark.parametrize(
    "card", [CARD, CELLS, ENCODER, replace(CARD, boxes=Boxes.RESAMPLED)], ids=lambda card: card.name
)
def test_files_are_the_same_bytes_for_any_size_of_shards(
    reader: SlideReader, found: Path, tmp_path: Path, card: ModelCard
) -> None:
    objects = read((found / "objects.geojson.gz").read_bytes())
    one = analyse(tmp_path / "one", reader, objects, card)
    other = analyse(tmp_path / "other", reader, objects, card, shard_tiles=7)
    names = {path.name for path in one.iterdir()} - {"summary.json"}
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    common = {"tiles.csv", "tile_objects.csv", "tile_quality.csv", "objects.parquet"}
    scored = common | {"objects.geojson.gz"}
    assert names == (common | {"features.h5", "tiles.parquet"} if card is ENCODER else scored)


def test_the_order_of_the_file_changes_no_objects_values(reader: SlideReader, tmp_path: Path) -> None:
    centres = [(100.0, 90.0), (100.0, 90.0), (8.0, 8.0), (419.0, 299.0), (350.5, 20.0)]
    values = []
    for name, order in (("first", [0, 1, 2, 3, 4]), ("second", [4, 2, 1, 3, 0])):
        objects = read(write_points([centres[number] for number in order], together=False))
        rows = geopandas.read_parquet(analyse(tmp_path / name, reader, objects) / "objects.parquet")
        found = rows[[column.name for column in CARD.columns]].to_numpy()
        values.append(found[np.argsort(order)])
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_array_equal(values[0][0], values[0][1])


def test_a_model_of_classes_sets_the_class_and_keeps_the_files_own(reader: SlideReader, tmp_path: Path) -> None:
    objects = read(write_qupath([(20, 20), (330, 245)], nan=True))
    folder = analyse(tmp_path, reader, objects, CELLS)
    first = features_in(folder)[0]
    properties = first["properties"]
    scores = {name: properties["measurements"].pop(name) for name in ("prob_Light", "prob_Dark")}
    chosen = "Light" if scores["prob_Light"] > scores["prob_Dark"] else "Dark cell"
    assert properties["classification"]["name"] == chosen
    assert properties["measurements"] == {"Nucleus: Area µm^2": 12.5}
    assert properties["metadata"] == {"Reviewer": "Dr B", "Original class": "Tumor"}
    assert (properties["name"], properties["objectType"], properties["isLocked"]) == ("Cell 0", "cell", True)
    assert first["nucleusGeometry"]["coordinates"][0][0] == [18, 18]
    row = geopandas.read_parquet(folder / "objects.parquet").iloc[0]
    assert (row["class"], row["given_class"]) == (chosen, "Tumor")


def test_cells_of_cellvit_become_detections_that_qupath_takes(reader: SlideReader, tmp_path: Path) -> None:
    objects = read(write_cellvit({"Neoplastic": [(30, 40), (90, 90)], "Dead": [(300, 300)]}))
    after = features_in(analyse(tmp_path, reader, objects))
    assert [one["properties"]["classification"]["name"] for one in after] == ["Neoplastic", "Neoplastic", "Dead"]
    assert [one["properties"]["objectType"] for one in after] == ["detection"] * 3


def test_points_get_values_and_classes_without_colour_get_one(reader: SlideReader, tmp_path: Path) -> None:
    points = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [x, 40.5]},
            "properties": {"classification": stated},
        }
        for x, stated in (
            (20, "Bare"),
            (60, '{"name": "Text", "color": null}'),
            (90, {"name": "No colour"}),
            (99, None),
        )
    ]
    objects = read(json.dumps(points).encode())
    folder = analyse(tmp_path, reader, objects)
    after = json.loads(gzip.decompress((folder / "objects.geojson.gz").read_bytes()))["features"]
    classes = [one["properties"].get("classification") for one in after]
    assert [each and each["name"] for each in classes] == ["Bare", "Text", "No colour", None]
    assert all(len(each["color"]) == 3 for each in classes[:3])
    assert {*after[3]["properties"]["measurements"]} == {column.name for column in CARD.columns}
    assert geopandas.read_parquet(folder / "objects.parquet").geometry.iloc[1] == shapely.Point(60, 40.5)


def test_vectors_are_linked_to_their_objects(reader: SlideReader, picture: NDArray[np.uint8], tmp_path: Path) -> None:
    centres = [(330.0, 245.0), (20.0, 20.0), (410.0, 30.0)]
    objects = read(write_qupath(centres))
    folder = analyse(tmp_path, reader, objects, ENCODER)
    with h5py.File(folder / "features.h5") as file:
        ids = file["objects"].asstr()[:].tolist()
        numbers = file["object_numbers"][:].tolist()
        assert not file["coords"].attrs["grid"]
        vectors = file["features"][:]
    assert numbers == [1, 0, 2]
    assert ids == [objects.ids[number] for number in numbers]
    for vector, number in zip(vectors, numbers, strict=True):
        np.testing.assert_allclose(vector, cut(picture, centres[number]).mean(axis=(0, 1)), rtol=1e-6)
    table = geopandas.read_parquet(folder / "objects.parquet")
    assert table["row"].tolist() == [1, 0, 2]
    rows = list(csv.DictReader((folder / "tile_objects.csv").read_text().splitlines()))
    assert [(row["object"], int(row["number"])) for row in rows] == list(zip(ids, numbers, strict=True))


def test_files_for_qupath_count_from_its_crop(reader: SlideReader, tmp_path: Path) -> None:
    bounds, data = (40, 30, 360, 250), write_qupath([(100, 90)])
    for frame, shown, full in ((Frame.FULL, [55, 55], [95, 85]), (Frame.QUPATH, [95, 85], [135, 115])):
        folder = analyse(tmp_path / frame, reader, read(data, frame), bounds=bounds)
        (one,), (other,) = features_in(folder), features_in(folder, "objects.full.geojson.gz")
        assert (one["geometry"]["coordinates"][0][0], other["geometry"]["coordinates"][0][0]) == (shown, full)
        assert one["nucleusGeometry"]["coordinates"][0][0] == [shown[0] + 3, shown[1] + 3]
        table = geopandas.read_parquet(folder / "objects.parquet")
        assert table.geometry[0].bounds[:2] == tuple(full)
        with pytest.raises(Exception, match="counts from the corner of level 0"):
            read((folder / "objects.parquet").read_bytes(), Frame.QUPATH)


def test_objects_without_a_readable_tile_stay_in_the_files_without_values(reader: SlideReader, tmp_path: Path) -> None:
    objects = read(write_qupath([(30, 30), (380, 30), (9000, 10)]))
    plan = plan_of(reader, objects)
    damaged = DamagedReader(reader, [0])
    results = [run_shard(plan, 0, damaged, StainDensity(CARD), stop=threading.Event())]
    stitch(plan, results, FolderSink(tmp_path), run={}, given=objects)
    after = features_in(tmp_path)
    names = {column.name for column in CARD.columns}
    assert [names <= set(one["properties"]["measurements"]) for one in after] == [False, True, False]
    table = geopandas.read_parquet(tmp_path / "objects.parquet")
    assert table["row"].isna().tolist() == [True, False, True]
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["given_objects"] == {"given": 3, "analysed": 1, "digest": objects.digest, "frame": "full"}
    assert summary["tiles"] == {"planned": 2, "inferred": 1, "unreadable": 1}
    assert any("1 of 3 objects have their centre outside" in each for each in summary["warnings"])


@pytest.mark.parametrize("change", [lambda objects: None, lambda objects: read(write_qupath([(1, 1)]))])
def test_stitching_refuses_another_file_than_the_plans(
    reader: SlideReader, tmp_path: Path, change: Callable[[GivenObjects], GivenObjects | None]
) -> None:
    objects = read(write_qupath([(30, 30)]))
    plan = plan_of(reader, objects)
    with pytest.raises(JobFailed, match="another one than the job was planned with"):
        stitch(plan, [], FolderSink(tmp_path), run={}, given=change(objects))
