"""What a job may ask for goes the whole way: through the API into the plan, from there to workers and into results."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import tifffile
from typer.testing import CliRunner

from tessera.cli import app
from tests.slides import write_pyramid_tiff
from tests.stack.lab import Lab
from wsi.states import JobState

pytestmark = pytest.mark.stack


@pytest.mark.parametrize("fast", [False, True])
def test_rectangles_and_fast_decoding_give_what_they_give_on_one_machine(lab: Lab, tmp_path: Path, fast: bool) -> None:
    """Boxes of 512 x 640 px of 0.25 x 0.2 µm, square in microns; fast ones are decoded at 256 x 320."""
    slide = write_pyramid_tiff(tmp_path / "stretched.tif", width=2048, height=1920, mpp=0.25, levels=(1,))
    with tifffile.TiffFile(slide, mode="r+") as tiff:
        tiff.pages.first.tags["YResolution"].overwrite((50_000, 1))
    flags = ["--fast"] if fast else []
    run = CliRunner().invoke(
        app, ["run", "--model", "stain-density", str(slide), "--out", str(tmp_path / "out"), *flags]
    )
    assert run.exit_code == 0, run.output

    lab.stack.workers.start()
    job = lab.run(lab.upload(slide), options={"fast": fast})
    assert job.status == JobState.COMPLETED
    results = lab.results(job)
    summary = json.loads(results["summary.json"])
    assert (summary["slide"]["mpp"], summary["slide"]["mpp_y"]) == (0.25, 0.2)
    assert summary["grid"]["reduction"] == (2 if fast else 1)
    rows = list(csv.DictReader(results["tiles.csv"].decode().splitlines()))
    assert {(row["width"], row["height"]) for row in rows} == {("512", "640")}
    for name in ("tiles.csv", "tile_quality.csv", "tiles.geojson.gz", "heatmap.ome.tif", "tissue.png"):
        assert results[name] == (tmp_path / "out" / name).read_bytes(), name
