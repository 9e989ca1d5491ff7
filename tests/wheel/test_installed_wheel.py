"""The wheel as a user has it: in a venv without torch, beside packages that bear the names of our source tree."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.slides import write_svs
from tests.wheel.bare_venv import BareVenv
from tests.wheel.conftest import OF_THE_USER, ROOT, Built
from tools.tessera_build.staging import stage

pytestmark = pytest.mark.wheel

RUN = ("run", "--model", "stain-density")
#: Runs one job in a decoder process, which is started by its module's name.
DECODE = """
from tessera._internal.inference.decoding.decode_tasks import MeasureRows, Rows
from tessera._internal.inference.decoding.processes import ProcessDecoders
decoders = ProcessDecoders(1, 1 << 16)
try:
    print(decoders.submit(MeasureRows(Rows(2, 32, 32), 0, 2)).result(60).shape)
finally:
    decoders.close()
"""
#: Imports every module, and prints the packages that are missed.
IMPORT_ALL = """
import importlib, pkgutil, tessera
missed = set()
for module in pkgutil.walk_packages(tessera.__path__, "tessera."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        missed.add(error.name)
print(*sorted(missed))
"""


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slides") / "small.svs"
    write_svs(path, width=1_024, height=1_024)
    return path


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def results(folder: Path) -> dict[str, Any]:
    """Return all files of the folder but what the summary measured of the run, which is another each time."""
    files: dict[str, Any] = {path.name: path.read_bytes() for path in folder.iterdir()}
    files["summary.json"] = {**json.loads(files["summary.json"]), "run": None}
    return files


def test_the_only_package_of_the_wheel_is_tessera(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        names = {Path(name).parts[0] for name in archive.namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"tessera"}


def test_the_wheel_of_the_sdist_holds_what_the_tree_holds(built: Built, tmp_path: Path) -> None:
    stage(ROOT, tmp_path)
    of_the_tree = {
        path.relative_to(tmp_path).as_posix(): path.read_bytes()
        for path in (tmp_path / "tessera").rglob("*")
        if path.is_file()
    }
    with zipfile.ZipFile(built.wheel) as archive:
        of_the_wheel = {name: archive.read(name) for name in archive.namelist() if name.startswith("tessera/")}
    assert of_the_wheel == of_the_tree


def test_it_gives_the_results_of_the_source_tree(installed: BareVenv, slide: Path, tmp_path: Path) -> None:
    of_the_tree = run([sys.executable, "-m", "tessera", *RUN, str(slide), "--out", str(tmp_path / "tree")], ROOT)
    assert of_the_tree.returncode == 0, of_the_tree.stderr
    done = run([str(installed.tessera), *RUN, str(slide), "--out", str(tmp_path / "wheel")], tmp_path)
    assert done.returncode == 0, done.stderr
    assert results(tmp_path / "wheel") == results(tmp_path / "tree")


def test_packages_of_the_user_are_beside_it(installed: BareVenv, tmp_path: Path) -> None:
    attempt = "try:\n    import {}\nexcept RuntimeError as error:\n    print(error)\n"
    attempts = "".join(map(attempt.format, OF_THE_USER))
    done = run([str(installed.python), "-c", attempts], tmp_path)
    assert done.stdout.splitlines() == ["a package of the user was imported"] * len(OF_THE_USER), done.stderr


def test_every_module_imports_but_those_that_need_an_extra(installed: BareVenv, tmp_path: Path) -> None:
    done = run([str(installed.python), "-c", IMPORT_ALL], tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= {"torch", "timm", "safetensors", "onnx", "onnxruntime", "shapely"}
    assert "torch" in done.stdout


def test_decoder_processes_start(installed: BareVenv, tmp_path: Path) -> None:
    done = run([str(installed.python), "-c", DECODE], tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "(2, 4)"), done.stderr


@pytest.mark.parametrize(
    ("model", "options", "sentence"),
    [
        ("epithelium", (), 'This model needs onnx, which is not installed here: pip install "tessera-wsi[onnx]".'),
        (
            "stain-density",
            ("--device", "cuda"),
            'This needs torch, which is not installed here: pip install "tessera-wsi[models]".',
        ),
    ],
)
def test_a_model_names_the_extra_that_it_needs(
    installed: BareVenv, slide: Path, tmp_path: Path, model: str, options: tuple[str, ...], sentence: str
) -> None:
    command = ["run", str(slide), "--model", model, *options, "--out", str(tmp_path / "out")]
    done = run([str(installed.tessera), *command], tmp_path)
    assert (done.returncode, done.stderr.strip()) == (2, f"tessera: {sentence}")
