"""A WSInfer package, unchanged, through `tessera run`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tessera.cli import app
from tessera.local_run.inputs import UsageError
from tests.inference.packages import write_package
from tests.slides import write_svs


def test_a_wsinfer_package_gives_its_classes_columns(tmp_path: Path) -> None:
    package = write_package(tmp_path / "tiny-model")
    write_svs(tmp_path / "a.svs", width=1024, height=1024)
    out = tmp_path / "out"
    result = CliRunner().invoke(
        app, ["run", str(tmp_path / "a.svs"), "--model", str(package), "--out", str(out), "--workers", "1"]
    )
    assert result.exit_code == 0, result.output
    classes = json.loads((package / "config.json").read_text())["class_names"]
    rows = list(csv.DictReader((out / "tiles.csv").read_text().splitlines()))
    assert list(rows[0]) == ["minx", "miny", "width", "height", *(f"prob_{name}" for name in classes)]
    assert all(abs(sum(float(row[f"prob_{name}"]) for name in classes) - 1) < 1e-4 for row in rows)
    assert json.loads((out / "summary.json").read_text())["model"]["name"] == "tiny-model"


def test_threads_are_stated_and_told_and_move_last_bits_alone(tmp_path: Path) -> None:
    package = write_package(tmp_path / "tiny-model")
    slide = write_svs(tmp_path / "a.svs", width=1024, height=1024)
    tables: dict[int, list[float]] = {}
    for threads in (1, 3):
        out = tmp_path / f"out-{threads}"
        call = ["run", str(slide), "--model", str(package), "--out", str(out), "--threads", str(threads)]
        assert CliRunner().invoke(app, call).exit_code == 0
        assert json.loads((out / "summary.json").read_text())["numerics"]["threads"] == threads
        rows = csv.DictReader((out / "tiles.csv").read_text().splitlines())
        tables[threads] = [float(value) for row in rows for name, value in row.items() if name.startswith("prob_")]
    assert tables[1] == pytest.approx(tables[3], abs=1e-5)


def test_a_wsinfer_package_enlarges_a_coarse_slide_unasked_and_says_so(tmp_path: Path) -> None:
    package = write_package(tmp_path / "tiny-model")
    slide = write_svs(tmp_path / "a.svs", width=1024, height=1024, mpp=2.0)
    out = tmp_path / "out"
    result = CliRunner().invoke(app, ["run", str(slide), "--model", str(package), "--out", str(out), "--workers", "1"])
    assert result.exit_code == 0, result.output
    assert "was enlarged to the model's" in json.loads((out / "summary.json").read_text())["warnings"][-1]


def test_a_folder_that_is_no_package_is_a_wrong_call(tmp_path: Path) -> None:
    write_svs(tmp_path / "a.svs", width=512, height=512)
    (tmp_path / "empty").mkdir()
    result = CliRunner().invoke(
        app, ["run", str(tmp_path / "a.svs"), "--model", str(tmp_path / "empty"), "--out", str(tmp_path / "out")]
    )
    assert isinstance(result.exception, UsageError)
    assert "config.json" in str(result.exception)
