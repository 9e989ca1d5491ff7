"""`tessera models` on packages whose networks give vectors, or maps in which objects are found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from inference.models.checks.golden import read_golden
from inference.models.checks.trial import try_package
from inference.models.package import read_package
from tessera.cli import app
from tests.inference.dense_packages import AS_ONNX, MARGIN, STRIDE, write_dense_package
from tests.inference.models.test_packaged_encoders import ENCODER, WIDTH, vit
from tests.inference.packages_with_card import write_card_package
from tests.slides import write_svs
from wsi.errors import ModelFailed


def models(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["models", *map(str, arguments)], env={"COLUMNS": "200"})


@pytest.fixture
def slide(tmp_path: Path) -> Path:
    return write_svs(tmp_path / "a.svs", width=512, height=384)


def test_check_measures_what_maps_depend_on(tmp_path: Path) -> None:
    result = models("check", write_dense_package(tmp_path / "net", **AS_ONNX))
    assert result.exit_code == 0, result.output
    assert re.search(rf"measured stride\W+{STRIDE} px", result.stdout)
    assert re.search(rf"measured margin\W+{MARGIN} px", result.stdout)
    assert "classes Nucleus, inside 128, core 140" in result.stdout
    assert "golden" not in result.stdout


def test_check_refuses_a_margin_that_is_too_small_and_says_the_right_one(tmp_path: Path) -> None:
    folder = write_dense_package(tmp_path / "net", objects={"margin_px": 12})
    result = models("check", folder)
    assert result.exit_code != 0
    assert f'write "margin_px": {MARGIN}' in " ".join(str(result.exception or result.output).split())
    with pytest.raises(ModelFailed, match=f'write "margin_px": {MARGIN}'):
        try_package(folder, "cpu", 0)


def test_check_compares_maps_with_those_in_fp32(tmp_path: Path, slide: Path) -> None:
    loose = {"max_difference": 0.5, "mean_difference": 0.5, "reason": "random weights"}
    result = models("check", write_dense_package(tmp_path / "net", precision="bf16", tolerance=loose), "--slide", slide)
    assert result.exit_code == 0, result.output
    found = re.search(r"(\d+) tiles: max \|dp\| ([0-9.e-]+), mean", result.stdout)
    assert found is not None, result.stdout
    assert int(found[1]) > 1
    assert 0 < float(found[2]) < 0.1


def test_check_compares_vectors_with_those_in_fp32(tmp_path: Path, slide: Path) -> None:
    folder = write_card_package(tmp_path / "net", vit(), **{**ENCODER, "precision": "fp16"})
    result = models("check", folder, "--slide", slide, "--tiles", 20)
    assert result.exit_code == 0, result.output
    assert f"dimensions {WIDTH}, pooling cls, stored fp32" in result.stdout
    found = re.search(r"20 tiles: max \|dp\| ([0-9.e-]+), mean", result.stdout)
    assert found is not None, result.stdout
    assert 0 < float(found[1]) < 0.02


def test_vectors_may_be_golden_and_maps_may_not(tmp_path: Path, slide: Path) -> None:
    folder = write_card_package(tmp_path / "net", vit(), **ENCODER)
    result = models("golden", folder, "--slide", slide, "--tiles", 4)
    assert result.exit_code == 0, result.output
    assert read_golden(folder / "golden.npz", read_package(folder)).scores.shape == (4, WIDTH)
    refused = models("golden", write_dense_package(tmp_path / "maps"), "--slide", slide)
    assert "this model gives maps: it has none" in " ".join(str(refused.exception or refused.output).split())


def test_a_worker_tries_and_times_a_package_of_either(tmp_path: Path) -> None:
    encoder = write_card_package(tmp_path / "net", vit(), **{**ENCODER, "batch": 2})
    for folder in (encoder, write_dense_package(tmp_path / "maps", batch=2)):
        card, measured = try_package(folder, "cpu", 0.05)
        assert card == read_package(folder)
        assert measured.tiles_per_second > 0
        assert measured.doubts == ()
