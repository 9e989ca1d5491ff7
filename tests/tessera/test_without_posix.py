"""The public face where Python has no fcntl, no fork and no memfd, as on Windows, and in consoles of code page 1252."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slides import write_svs

ROOT = Path(__file__).parents[2]
RUN = ("run", "--model", "stain-density")


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its name holds characters that code page 1252 lacks."""
    path = tmp_path_factory.mktemp("slides") / "Řez 膵臓 🔬.svs"
    write_svs(path, width=1_024, height=1_024)
    return path


def tessera(module: str, *arguments: str, encoding: str = "utf-8") -> subprocess.CompletedProcess[bytes]:
    environ = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "200"}
    return subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT, env=environ, capture_output=True)


def test_a_run_gives_the_same_results(slide: Path, tmp_path: Path) -> None:
    for module in ("tessera", "tests.tessera.without_posix"):
        done = tessera(module, *RUN, str(slide), "--out", str(tmp_path / module))
        assert done.returncode == 0, done.stderr.decode()
    here, there = tmp_path / "tessera", tmp_path / "tests.tessera.without_posix"
    assert {path.name for path in there.iterdir()} == {path.name for path in here.iterdir()}
    for path in here.iterdir():
        if path.name != "summary.json":
            assert (there / path.name).read_bytes() == path.read_bytes(), path.name
    summaries = [json.loads((folder / "summary.json").read_bytes()) | {"run": None} for folder in (here, there)]
    assert summaries[0] == summaries[1]


def test_inspection_in_a_console_of_code_page_1252(slide: Path) -> None:
    done = tessera("tests.tessera.without_posix", "inspect", str(slide), "--json", encoding="cp1252")
    assert done.returncode == 0, done.stderr.decode("cp1252")
    assert json.loads(done.stdout.decode("cp1252"))["width"] == 1_024


def test_names_that_the_console_cannot_show_end_no_command(slide: Path, tmp_path: Path) -> None:
    arguments = (*RUN, str(slide), str(tmp_path / "Řez.svs"), "--out", str(tmp_path))
    done = tessera("tests.tessera.without_posix", *arguments, encoding="cp1252")
    said = done.stderr.decode("cp1252")
    assert done.returncode == 2
    assert "Traceback" not in said
    assert "There is no file or folder" in said
    done = tessera("tests.tessera.without_posix", *RUN, "--dry-run", str(slide), encoding="cp1252")
    assert done.returncode == 0, done.stderr.decode("cp1252")
    assert "1 slide = 1 estimated" in done.stdout.decode("cp1252")
    done = tessera("tests.tessera.without_posix", *RUN, "--dry-run", "--json", str(slide), encoding="cp1252")
    assert json.loads(done.stdout.decode("cp1252"))["slides"][0]["name"] == slide.stem
