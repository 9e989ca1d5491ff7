"""The example that works with an installation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tessera
from tests.slides import write_svs
from tests.stack.lab import Lab

pytestmark = pytest.mark.stack

ROOT = Path(__file__).parents[2]


def test_a_slide_goes_through_the_installation(lab: Lab, tmp_path: Path) -> None:
    lab.stack.workers.start()
    slide, out = write_svs(tmp_path / "a.svs", width=1536, height=1280, seed=96), tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "examples/through_the_api.py", lab.stack.api_url, str(slide), str(out)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TESSERA_API_KEY": lab.stack.api_key},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "is READY" in done.stdout
    assert "is COMPLETED: 100%" in done.stdout
    here = tessera.run(slide, model="stain-density", out=tmp_path / "here")
    assert (out / "tiles.csv").read_bytes() == (here.folder / "tiles.csv").read_bytes()
    assert f"mean {here.columns[0]}: {here.tile_arrays[here.columns[0]].mean():.3f}" in done.stdout
