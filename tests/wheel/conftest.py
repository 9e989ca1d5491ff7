from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.wheel.bare_venv import BareVenv

ROOT = Path(__file__).parents[2]
#: What users may have beside it, under the names of our source tree.
OF_THE_USER = ("adapters", "client", "inference", "local", "wsi")


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    sdist: Path
    wheel: Path  #: built from the sdist


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("built")
    sdist = folder / _hook(ROOT, "build_sdist", folder)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    return Built(sdist=sdist, wheel=folder / _hook(unpacked, "build_wheel", folder))


@pytest.fixture(scope="session")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> BareVenv:
    """The wheel in a bare venv, beside packages of the user that nothing of ours may import."""
    venv = BareVenv(tmp_path_factory.mktemp("venv"))
    venv.install(built.wheel)
    for name in OF_THE_USER:
        (venv.packages / name).mkdir()
        (venv.packages / name / "__init__.py").write_text("raise RuntimeError('a package of the user was imported')\n")
    return venv


def _hook(tree: Path, name: str, target: Path) -> str:
    """Call the build backend as a frontend does. Return the name of the file that it wrote."""
    call = f"import sys, tessera_build; print('\\n' + tessera_build.{name}({str(target)!r}))"
    environ = {**os.environ, "PYTHONPATH": str(tree / "tools")}
    done = subprocess.run([sys.executable, "-c", call], cwd=tree, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]
