"""A package of the WSInfer zoo's layout, registered, runs through the stack and gives what it gives in one process."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from typer.testing import CliRunner

from inference.models.package import read_package
from tessera.cli import app
from tests.inference.packages import write_package
from tests.shared_slides import shared_slide
from tests.stack.lab import Lab
from wsi.states import JobState

pytestmark = pytest.mark.stack


def table(text: str) -> list[dict[str, float]]:
    return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]


def test_a_registered_package_gives_on_the_stack_what_it_gives_in_one_process(lab: Lab, tmp_path: Path) -> None:
    package = write_package(tmp_path / "tumor-demo")
    slide = shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs")
    out = tmp_path / "out"
    ran = CliRunner().invoke(app, ["run", str(slide), "--model", str(package), "--out", str(out)])
    assert ran.exit_code == 0, ran.output

    model = lab.register(read_package(package), package)
    lab.stack.workers.start()
    job = lab.run(lab.upload(slide), model=model)
    assert job.status == JobState.COMPLETED

    alone, through = table((out / "tiles.csv").read_text()), table(lab.results(job)["tiles.csv"].decode())
    assert len(alone) == len(through) == job.tiles_planned > 0
    for one, other in zip(alone, through, strict=True):
        assert one.keys() == other.keys()
        assert one == pytest.approx(other, abs=1e-5)
        assert one["prob_Other"] + one["prob_Tumor"] == pytest.approx(1, abs=1e-5)
