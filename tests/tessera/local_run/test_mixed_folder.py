"""Nothing of a folder vanishes: its slides and what is left out add up to the files that lie in it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tessera.cli import app
from tests.slides import write_svs
from tests.slides.dicoms import write_annotations
from tests.tessera.local_run.inputs.places import write
from tests.tessera.local_run.inputs.test_series import write_series

FILES = 40


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("mixed")
    study, nas = root / "study", root / "nas"
    study.mkdir()
    nas.mkdir()
    write_svs(study / "a.svs", width=512, height=512, seed=1)
    write_svs(study / "b.qptiff", width=512, height=512, seed=2)
    write_svs(study / "scan without suffix", width=512, height=512, seed=3)
    write_svs(nas / "from the store.svs", width=512, height=512, seed=4)
    write(nas, "about the store.txt")
    (study / "linked").symlink_to(nas)
    (study / "again.svs").symlink_to(study / "a.svs")
    (study / "gone").symlink_to(nas / "nothing")
    shutil.copy(study / "a.svs", study / "copy of a.svs")
    (study / "cut off.svs").write_bytes((study / "a.svs").read_bytes()[:1000])
    write_series(study / "PAWDLM", "DCM_0", "DCM_1", "DCM_2")
    write_annotations(study / "PAWDLM/DCM_3")
    write(study, "m.mrxs", "m/Slidedat.ini", "m/Data0000.dat", head=b"\xff\xd8\xff")
    write(study, "cases.xlsx", "b.xlsx", "list.csv", "README.md", "Thumbs.db", ".DS_Store", "._a.svs", "desktop.ini")
    write(study, "a.isyntax", "i.vsi", "j.jp2", "k.kfb", "label.jpg", "macro.png", "photo.nef", "u.dyqx")
    for name, head in (
        ("z.zip", b"PK\3\4"),
        ("z.svs.gz", b"\x1f\x8b\x08"),
        ("z.7z", b"7z\xbc\xaf\x27\x1c"),
        ("z", b"BZh"),
    ):
        write(study, name, head=head)
    write(study, "earlier/heatmap.ome.tif", "earlier/tiles.csv", "earlier/summary.json")
    (study / "empty").touch()
    assert sum(len(files) for _, _, files in os.walk(study, followlinks=True)) == FILES
    return study


def run(*options: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["run", "--model", "stain-density", *map(str, options)])


def test_a_folder_of_mixed_files_adds_up(study: Path, tmp_path: Path) -> None:
    result = run(study, "--out", tmp_path / "out")
    assert result.exit_code == 3, result.output  # for the slides that cannot be analysed, not for what is left out
    slides = ["a", "b", "cut off", "from the store", "m", "PAWDLM", "scan without suffix"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "a",
        "b",
        "from the store",
        "scan without suffix",
    ]
    assert "36 inputs = " in result.stdout
    assert f"{FILES} files = 11 in {len(slides)} slides + 29 left out" in result.stdout
    assert "cases.xlsx" in result.stdout


def test_the_json_of_a_dry_run_names_every_file_that_is_left_out(study: Path) -> None:
    found = json.loads(run(study, "--dry-run", "--json").stdout)
    rows = [row for row in found["slides"] if row["outcome"] == "left_out"]
    assert all(row["reason"] and row["sentence"].endswith(".") for row in rows)
    assert found["files"]["left_out"] == len(rows) == FILES - found["files"]["in_slides"]
    assert {Path(row["name"]).name for row in rows} >= {"README.md", "z.7z", "i.vsi", "DCM_3", "again.svs", "gone"}


def test_a_readme_beside_a_slide_does_not_fail_the_run(study: Path, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    shutil.copy(study / "a.svs", tmp_path / "one/a.svs")
    write(tmp_path / "one", "README.md")
    result = run(tmp_path / "one", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "2 inputs = 1 estimated + 1 left_out" in result.stdout
    assert "README.md: left out (not_a_slide)" in result.stderr
