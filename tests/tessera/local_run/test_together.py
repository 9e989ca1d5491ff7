"""Models that read the same boxes are computed from one decode, and give what each gives alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from inference.decoding.decode_tasks import ScatterTiles
from tessera.cli import app
from tests.inference.packages_with_card import write_card_package
from tests.slides import write_svs


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_svs(tmp_path_factory.mktemp("slides") / "a.svs", width=900, height=700)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A classifier, and an encoder that stores fp16, with other batches: over tiles of 48 px."""
    timm = pytest.importorskip("timm")
    folder = tmp_path_factory.mktemp("packages")
    classifier = timm.create_model("test_vit", num_classes=3, img_size=32).eval()
    encoder = timm.create_model("test_vit", num_classes=0, img_size=32).eval()
    vector: dict[str, Any] = {
        "output": "embedding",
        "dimensions": encoder.num_features,
        "pooling": "cls",
        "features": "fp16",
        "activation": None,
        "columns": None,
        "architecture_arguments": {"img_size": 32},
    }
    return [
        write_card_package(folder / "classifier", classifier),
        write_card_package(folder / "encoder", encoder, batch=48, **vector),
    ]


def run(slide: Path, out: Path, *models: str | Path) -> dict[str, Any]:
    """Run the models; return their summaries by name."""
    chosen = [word for model in models for word in ("--model", str(model))]
    ran = CliRunner().invoke(app, ["run", str(slide), *chosen, "--out", str(out), "--threads", "1"])
    assert ran.exit_code == 0, ran.output
    assert "one after the other" not in ran.output
    folders = [path.parent for path in out.rglob("summary.json")]
    return {folder.name: json.loads((folder / "summary.json").read_bytes()) for folder in folders}


def count_decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    decoded: list[int] = []
    whole = ScatterTiles.run

    def count(task: ScatterTiles, memory: Any) -> Any:
        decoded.append(len(task.encoded))
        return whole(task, memory)

    monkeypatch.setattr(ScatterTiles, "run", count)
    return decoded


def test_each_model_gives_what_it_gives_alone_and_tiles_are_decoded_once(
    slide: Path, packages: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded = count_decoded(monkeypatch)
    for package in packages:
        run(slide, tmp_path / "alone" / package.name, package)
    alone = sum(decoded)
    decoded.clear()
    summaries = run(slide, tmp_path / "together", *packages)
    assert sum(decoded) == alone / 2
    for package in packages:
        one, other = tmp_path / "alone" / package.name, tmp_path / "together" / "a" / package.name
        names = sorted(path.name for path in one.iterdir())
        assert names == sorted(path.name for path in other.iterdir())
        for name in set(names) - {"summary.json"}:
            assert (one / name).read_bytes() == (other / name).read_bytes(), (package.name, name)
    reads = [summary["run"]["inference"]["bytes"] for summary in summaries.values()]
    assert abs(reads[0] - reads[1]) <= len(reads) * 10
    assert not list(tmp_path.rglob(".tessera-partial"))


def test_models_over_other_boxes_run_one_after_the_other(slide: Path, packages: list[Path], tmp_path: Path) -> None:
    summaries = run(slide, tmp_path, packages[0], "stain-density")
    assert {summary["status"] for summary in summaries.values()} == {"COMPLETED"}


def test_a_model_that_is_finished_is_left_alone(slide: Path, packages: list[Path], tmp_path: Path) -> None:
    first = tmp_path / "out"
    run(slide, first, *packages)
    kept = (first / "a" / "encoder" / "features.h5").stat().st_mtime_ns
    (first / "a" / "classifier" / "summary.json").unlink()
    run(slide, first, *packages)
    assert (first / "a" / "encoder" / "features.h5").stat().st_mtime_ns == kept
    assert (first / "a" / "classifier" / "summary.json").is_file()
