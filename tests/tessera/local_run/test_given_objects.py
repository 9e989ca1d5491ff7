"""`tessera run --objects` and `tessera.run(objects=…)`."""

from __future__ import annotations

import csv
import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import tessera
from tessera.cli import app
from tessera.local_run.inputs import UsageError
from tests.slides import write_svs
from tests.wsi.given.files import feature, write_points, write_qupath

CENTRES = [(700.0, 640.0), (500.0, 600.0), (690.0, 500.0)]


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slides") / "good.svs"
    write_svs(path, width=1024, height=896)
    return path


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    path = tmp_path / "cells.geojson"
    path.write_bytes(write_qupath(CENTRES))
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["run", "--model", "stain-density", *map(str, arguments)])


def summary(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_bytes())


def table(folder: Path, name: str = "tiles.csv") -> list[dict[str, str]]:
    return list(csv.DictReader((folder / name).read_text().splitlines()))


def test_a_run_over_objects_writes_tables_and_the_objects_and_no_heatmap(
    slide: Path, cells: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    result = run(slide, "--out", out, "--objects", cells)
    assert result.exit_code == 0, result.output
    assert {path.name for path in out.iterdir()} == {
        *("summary.json", "tiles.csv", "tile_quality.csv", "tile_objects.csv"),
        *("objects.geojson.gz", "objects.parquet"),
    }
    assert [(row["minx"], row["miny"]) for row in table(out)] == [("372", "472"), ("562", "372"), ("572", "512")]
    assert [row["number"] for row in table(out, "tile_objects.csv")] == ["1", "2", "0"]
    written = json.loads(gzip.decompress((out / "objects.geojson.gz").read_bytes()))["features"]
    scores = {row["number"]: row for row in table(out, "tile_objects.csv")}
    assert [one["id"] for one in written] == [scores[str(number)]["object"] for number in range(3)]
    found = tessera.RunResult(out)
    assert len(found.tile_arrays["minx"]) == 3
    with pytest.raises(ValueError, match="around objects"):
        found.heatmap()


def test_the_same_file_is_skipped_and_another_is_another_question(slide: Path, cells: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(slide, "--out", out, "--objects", cells)
    packed = tmp_path / "cells.geojson.gz"
    packed.write_bytes(gzip.compress(cells.read_bytes()))
    zipped = tmp_path / "cells.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.write(cells, "cells.geojson")
    for same in (cells, packed, zipped):
        assert "1 skipped" in run(slide, "--out", out, "--objects", same).stdout
    assert "1 completed" in run(slide, "--out", out, "--objects", cells, "--objects-frame", "qupath").stdout
    assert "1 completed" in run(slide, "--out", out).stdout
    assert summary(out)["tiles"]["planned"] > 3


def test_the_python_function_gives_the_same_files(slide: Path, cells: Path, tmp_path: Path) -> None:
    run(slide, "--out", tmp_path / "command", "--objects", cells)
    tessera.run(slide, model="stain-density", out=tmp_path / "function", objects=cells, progress=False)
    for name in ("tiles.csv", "objects.geojson.gz", "objects.parquet"):
        assert (tmp_path / "command" / name).read_bytes() == (tmp_path / "function" / name).read_bytes()


def test_a_dry_run_counts_the_objects(slide: Path, cells: Path) -> None:
    result = run(slide, "--objects", cells, "--dry-run", "--json")
    assert json.loads(result.stdout)["slides"][0]["tiles"] == 3


def test_what_was_left_out_is_told_and_in_the_summary(slide: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "mixed.geojson", tmp_path / "out"
    path.write_text(json.dumps([feature("LineString", [[0, 0], [9, 9]]), feature("Point", [600, 600])]))
    result = run(slide, "--out", out, "--objects", path)
    note = "The file of objects also holds 1 line: left out."
    assert note in " ".join(result.stderr.split())
    assert note in summary(out)["warnings"]


@pytest.mark.parametrize(
    ("arguments", "data", "code", "said"),
    [
        ([], b"{}", 2, "no GeoJSON"),
        ([], b"not json", 2, "is not JSON"),
        ([], write_points([(9e6, 5)], together=False), 4, "All objects lie outside of the slide of 1024 x 896 px"),
        (["--region-geojson"], write_points([(5, 5)], together=False), 2, "exclude each other"),
        (["--model", "nuclei"], write_points([(5, 5)], together=False), 2, "nuclei finds objects itself"),
    ],
)
def test_what_cannot_be_run_is_refused_with_a_sentence(
    slide: Path, tmp_path: Path, arguments: list[str], data: bytes, code: int, said: str
) -> None:
    path = tmp_path / "objects.geojson"
    path.write_bytes(data)
    if arguments == ["--region-geojson"]:
        drawn = tmp_path / "region.geojson"
        drawn.write_text(json.dumps(feature("Polygon", [[[0, 0], [9, 0], [9, 9], [0, 0]]])))
        arguments = [*arguments, str(drawn)]
    result = run(slide, "--out", tmp_path / "out", "--objects", path, *arguments)
    assert isinstance(result.exception, UsageError) is (code == 2)
    assert code == 2 or result.exit_code == code
    assert said in " ".join(f"{result.output} {result.exception}".split())


def test_objects_are_for_one_slide(slide: Path, cells: Path, tmp_path: Path) -> None:
    write_svs(tmp_path / "other.svs", width=512, height=512)
    result = run(slide, tmp_path / "other.svs", "--out", tmp_path / "out", "--objects", cells)
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == "--objects is for one slide"
