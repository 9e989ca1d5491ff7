"""Several models in one run: a slide is opened, named and examined once."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tessera.cli import app
from tessera.local_run.inputs import SlideInput, UsageError
from tessera.local_run.running import choose_models, run_slide
from tessera.local_run.shards import ModelToRun, PlannedSlide, RunCallbacks
from tessera.local_run.slide_session import SlideCache
from tessera.local_run.sources import Sources
from tests.slides import write_svs
from wsi.records.jobs import JobOptions


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_svs(tmp_path_factory.mktemp("slides") / "a.svs", width=1536, height=1280)


class PlansAlone:
    """In place of what computes: keeps what it is given, and what was read of the slide until then."""

    devices = 1

    def __init__(self) -> None:
        self.planned: list[PlannedSlide] = []
        self.read: list[tuple[int, int]] = []

    def compute(self, planned: PlannedSlide, model: ModelToRun, callbacks: RunCallbacks) -> None:
        self.planned.append(planned)
        self.read.append((planned.reads.requests, planned.reads.bytes))
        raise KeyboardInterrupt


def test_the_plan_of_a_second_model_reads_no_byte_of_the_slide(
    slide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = choose_models(["stain-density"], "cpu")
    card = replace(first.card, name="other", digest="ab" * 32, tile_px=2 * first.card.tile_px)
    plans, callbacks = (
        PlansAlone(),
        RunCallbacks(stop=threading.Event(), on_planned=print, on_tiles=print, on_copy=print),
    )
    with closing(SlideCache(Sources())) as slides:
        for model in (first, replace(first, card=card)):
            opened = slides.open(SlideInput(location=str(slide), name=f"a/{model.card.name}"))
            with pytest.raises(KeyboardInterrupt):
                run_slide(
                    opened,
                    "a",
                    tmp_path / model.card.name,
                    model,
                    computing=plans,
                    callbacks=callbacks,
                    options=JobOptions(),
                )
            monkeypatch.setattr("tessera.local_run.slide_session.examine", None)
            monkeypatch.setattr(Sources, "compute_digest", None)
    assert plans.read[0] == plans.read[1]
    one, two = (planned.plan for planned in plans.planned)
    assert plans.planned[0].reader is plans.planned[1].reader
    assert (one.slide_digest, one.inspection) == (two.slide_digest, two.inspection)
    assert one.mask is two.mask
    assert one.digest != two.digest
    assert two.grid.side == 2 * one.grid.side


def test_another_slide_is_opened_and_the_last_one_closed(slide: Path, tmp_path: Path) -> None:
    other = tmp_path / "b.svs"
    other.write_bytes(slide.read_bytes())
    with closing(SlideCache(Sources())) as slides:
        first = slides.open(SlideInput(location=str(slide)))
        assert slides.open(SlideInput(location=str(slide), name="again")) is first
        assert slides.open(SlideInput(location=str(slide), mpp=0.4)) is not first
        assert slides.open(SlideInput(location=str(other))).slide.location == str(other)


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["run", *map(str, arguments)])


def package(folder: Path) -> Path:
    pytest.importorskip("torch")
    from tests.inference.packages import write_package

    return write_package(folder)


def test_each_model_has_a_folder_and_an_outcome_of_its_own(slide: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.svs"
    bad.write_text("not a slide")
    models = ["--model", "stain-density", "--model", package(tmp_path / "tiny")]
    result = run(slide, bad, *models, "--out", tmp_path / "out", "--workers", 1)
    assert result.exit_code == 3, result.output
    assert "4 slides = 2 completed + 2 rejected" in result.stdout
    for name in ("stain-density", "tiny"):
        assert json.loads((tmp_path / "out/a" / name / "summary.json").read_bytes())["model"]["name"] == name
    assert run(slide, "--model", "stain-density", "--out", tmp_path / "alone").exit_code == 0
    alone, together = tmp_path / "alone", tmp_path / "out/a/stain-density"
    assert (alone / "tiles.csv").read_bytes() == (together / "tiles.csv").read_bytes()
    assert "2 skipped" in run(slide, bad, *models, "--out", tmp_path / "out").stdout


def test_a_dry_run_counts_every_model(slide: Path, tmp_path: Path) -> None:
    result = run(slide, "--model", "stain-density", "--model", package(tmp_path / "tiny"), "--dry-run", "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert [one["name"] for one in said["slides"]] == ["a/stain-density", "a/tiny"]
    assert said["total"]["tiles"] == sum(one["tiles"] for one in said["slides"])


def test_two_models_of_one_name_are_a_wrong_call(slide: Path, tmp_path: Path) -> None:
    result = run(slide, "--model", "stain-density", "--model", "stain-density", "--out", tmp_path)
    assert isinstance(result.exception, UsageError)
    assert "named stain-density" in str(result.exception)
