"""The epithelium network through the stack: its slide's stains are pinned by the planner, and a worker computes what
one process computes, to the last byte."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tessera.cli import app
from tests.inference.fetched_weights import epithelium_weights
from tests.slides import write_svs
from tests.stack.lab import Lab
from wsi.models.builtin import EPITHELIUM
from wsi.states import JobState

pytestmark = pytest.mark.stack


def test_a_slides_stains_are_pinned_and_its_shares_are_those_of_one_process(lab: Lab, tmp_path: Path) -> None:
    epithelium_weights()
    slide = write_svs(tmp_path / "a.svs", width=1024, height=1024, mpp=1.0)
    out = tmp_path / "out"
    ran = CliRunner().invoke(app, ["run", str(slide), "--model", "epithelium", "--out", str(out)])
    assert ran.exit_code == 0, ran.output

    model = lab.register(EPITHELIUM)
    lab.stack.workers.start()
    job = lab.run(lab.upload(slide), model=model, seconds=240)
    assert job.status == JobState.COMPLETED
    results = lab.results(job)
    assert results["tiles.csv"] == (out / "tiles.csv").read_bytes()
    assert len(list(csv.reader(io.StringIO(results["tiles.csv"].decode())))) == 2
    alone, through = json.loads((out / "summary.json").read_bytes()), json.loads(results["summary.json"])
    assert through["numerics"]["stains"] == alone["numerics"]["stains"] is not None
