"""Our tables beside WSInfer's own (goldens/wsinfer/README.md), and the columns and boxes that the zoo's models gave."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tifffile
from numpy.typing import NDArray
from typer.testing import CliRunner

from inference.models.package import read_package
from tessera.cli import app
from tests.inference.cases import open_path
from tests.inference.goldens.wsinfer.cases import BLOCKS, REAL, Case
from tests.inference.packages import CONFIG
from tests.shared_slides import shared_slide
from wsi.inspection.examination import Examination
from wsi.inspection.mask import SlideMask
from wsi.jobs.planning import make_plan
from wsi.records.jobs import JobOptions
from wsi.results import tables
from wsi.results.scored_tiles import ScoredTiles

Table = tuple[list[str], NDArray[np.int64], NDArray[np.float64]]  #: column names; [n, 4] boxes; [n, classes] scores


def read_table(text: str) -> Table:
    header, *rows = csv.reader(text.splitlines())
    values = np.array(rows, float)
    return header, values[:, :4].astype(int), values[:, 4:]


def ours(case: Case, folder: Path, *options: str) -> Table:
    """What `tessera run` makes of the case's slide."""
    slide, package = case.slide(folder), case.package(folder)
    call = ["run", str(slide), "--model", str(package), "--out", str(folder / "out"), "--workers", "1", *options]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    return read_table((folder / "out/tiles.csv").read_text())


def assert_equal(found: Table, golden: Table, tolerance: float) -> None:
    (header, boxes, scores), (their_header, their_boxes, their_scores) = found, golden
    assert header == their_header
    assert boxes.tolist() == their_boxes.tolist()
    np.testing.assert_allclose(scores, their_scores, rtol=0, atol=tolerance)
    assert their_scores.std(axis=0).min() > 10 * tolerance, "rows so alike that exchanging them would not be seen"


def outline_of(boxes: NDArray[np.int64], path: Path) -> Path:
    """The boxes as GeoJSON, for `--region-geojson`."""
    ends = [(x, y, x + width, y + height) for x, y, width, height in boxes.tolist()]
    rings = [[(x, y), (right, y), (right, bottom), (x, bottom), (x, y)] for x, y, right, bottom in ends]
    path.write_text(json.dumps({"type": "MultiPolygon", "coordinates": [[ring] for ring in rings]}))
    return path


@pytest.mark.parametrize("case", BLOCKS, ids=lambda case: case.table.stem)
def test_where_both_find_the_same_tissue_the_tables_are_equal(tmp_path, case):
    assert_equal(ours(case, tmp_path), read_table(case.table.read_text()), case.tolerance)


@pytest.mark.parametrize("case", REAL, ids=lambda case: case.table.stem)
def test_on_wsinfers_boxes_of_a_real_slide_the_tables_are_equal(tmp_path, case):
    golden = read_table(case.table.read_text())
    outline = outline_of(golden[1], tmp_path / "boxes.geojson")
    assert_equal(ours(case, tmp_path, "--region-geojson", str(outline)), golden, case.tolerance)


def write_purple(folder: Path) -> Path:
    """The slide that WSInfer's own tests make (tests/test_all.py): 4096 x 4096 px of one purple at 0.25 um."""
    pixels = np.full((4096, 4096, 3), (160, 32, 240), np.uint8)
    resolution = {"resolution": (40_000, 40_000), "resolutionunit": "CENTIMETER"}
    tifffile.imwrite(
        folder / "purple.tif", pixels, compression="zlib", tile=(256, 256), photometric="rgb", **resolution
    )
    return folder / "purple.tif"


@pytest.mark.parametrize(
    ("model", "tile_px", "mpp"),
    [
        ("breast-tumor-inception_v4.tcga-brca", 350, 0.25),
        ("breast-tumor-resnet34.tcga-brca", 350, 0.25),
        ("breast-tumor-vgg16mod.tcga-brca", 350, 0.25),
        ("pancancer-lymphocytes-inceptionv4.tcga", 100, 0.5),
        ("prostate-tumor-resnet34.tcga-prad", 350, 0.25),
    ],
)
def test_columns_boxes_and_order_are_those_of_the_zoos_models(tmp_path, model, tile_px, mpp):
    theirs = shared_slide(f"reference-outputs/wsinfer.{model}.purple.csv").read_text().splitlines()
    names = [column.removeprefix("prob_") for column in theirs[0].split(",")[4:]]
    changes = {"class_names": names, "num_classes": len(names), "patch_size_pixels": tile_px, "spacing_um_px": mpp}
    (tmp_path / "config.json").write_text(json.dumps({**CONFIG, **changes}))
    (tmp_path / "torchscript_model.pt").write_bytes(b"never loaded")
    reader = open_path(write_purple(tmp_path))
    plan = make_plan(
        slide_digest="0" * 64 + "-1",
        slide_uris=[("purple.tif", "memory", "1")],
        reader=reader,
        examination=Examination(
            inspection=replace(reader.inspection, tissue_fraction=1.0),
            thumbnail_jpeg=b"",
            mask=SlideMask(np.ones((16, 16), bool)),
        ),
        card=read_package(tmp_path),
        package_uri=None,
        # WSInfer takes no box whose centre lies outside the slide, we take all that hold tissue: those from 4,000 px.
        options=JobOptions(region=(0, 0, 4000, 4000)),
        shard_tiles=None,
        threads=1,
    )
    file, count = io.BytesIO(), len(plan.tiles)
    scored = ScoredTiles(
        plan=plan,
        inferred=np.arange(count, dtype=np.int32),
        scores=np.zeros((count, len(names)), np.float32),
        unreadable={},
        quality=np.zeros((count, 4), np.float32),
    )
    tables.write(scored, file)
    written = file.getvalue().decode().splitlines()
    assert written[0] == theirs[0]
    assert [line.split(",")[:4] for line in written[1:]] == [line.split(",")[:4] for line in theirs[1:]]
