"""The examples that need no installation; tests/stack runs the other one."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tessera
from inference.models.builtin.nuclei import load_in_torch
from inference.models.checks.map_check import compute_maps
from inference.models.execution.scoring import score_tiles
from inference.models.loaded import DenseModel
from inference.models.package import read_package
from inference.models.registry import load_model
from tests.inference.packages_with_card import tiles
from tests.shared_slides import SHARED_SLIDES
from tests.slides import write_svs
from wsi.models.builtin import NUCLEI
from wsi.records.model_card import OutputKind

ROOT = Path(__file__).parents[2]
SAMPLE = SHARED_SLIDES / "real/aperio-jpeg-20x.CMU-1-Small-Region.svs"  #: the demo's slide (`local.sample_slide`)


@pytest.fixture(scope="module", params=["sample", "made"])
def slide(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "made":
        return write_svs(tmp_path_factory.mktemp("slides") / "made.svs", width=1536, height=1280)
    if not SAMPLE.exists():
        pytest.skip("../shared/slides is absent; it holds the demo's slide")
    return SAMPLE


def run_example(name: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, f"examples/{name}", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_slide_is_run_and_looked_at(slide: Path, tmp_path: Path) -> None:
    said = run_example("run_slide.py", slide, "--out", tmp_path)
    result = tessera.RunResult(tmp_path)
    assert said.startswith(f"<RunResult COMPLETED: {len(result.tile_arrays['minx'])} tiles in ")
    assert all(f"{column}: mean " in said for column in result.columns)
    drawn = said.splitlines()[-result.heatmap().shape[0] :]
    assert [len(row) for row in drawn] == [2 + result.heatmap().shape[1]] * len(drawn)
    assert "".join(drawn).count(".") == np.isnan(result.heatmap()).sum()
    assert "9" in "".join(drawn)


def test_regions_are_read_and_saved(slide: Path, tmp_path: Path) -> None:
    said = run_example("read_regions.py", slide, tmp_path)
    assert said.startswith("<WholeSlideImage svs: ")
    saved = {path.name: Image.open(io.BytesIO(path.read_bytes())).size for path in tmp_path.iterdir()}
    assert {size for name, size in saved.items() if name != "thumbnail.png"} == {(256, 256)}
    assert set(saved) == {"thumbnail.png", "level-0.png", "1-microns.png", "2-microns.png"}
    assert max(saved["thumbnail.png"]) <= 512


def test_a_package_of_an_encoder_is_made_and_loads(tmp_path: Path) -> None:
    said = run_example("encoder_package.py", tmp_path / "vit")
    card = read_package(tmp_path / "vit")
    assert said.startswith(f"{tmp_path / 'vit'}: 192 numbers for each tile of 224 px")
    assert (card.width, card.output) == (192, OutputKind.EMBEDDING)
    assert score_tiles(load_model(card, tmp_path / "vit", "cpu"), tiles(2, 224)).shape == (2, 192)


def test_a_package_of_objects_is_made_and_is_the_built_in_model(tmp_path: Path) -> None:
    said = run_example("objects_package.py", tmp_path / "nuclei")
    card = read_package(tmp_path / "nuclei")
    assert said.startswith(f"{tmp_path / 'nuclei'}: objects of Nucleus at 0.5")
    assert card.objects == NUCLEI.objects
    assert (card.tile_px, card.mpp, card.mean, card.std) == (NUCLEI.tile_px, NUCLEI.mpp, NUCLEI.mean, NUCLEI.std)
    small = replace(card, tile_px=256, input_px=256)
    model = load_model(small, tmp_path / "nuclei", "cpu")
    assert isinstance(model, DenseModel)
    pixels = tiles(1, 256)
    assert compute_maps(model, pixels).tobytes() == compute_maps(load_in_torch(small, "cpu"), pixels).tobytes()
