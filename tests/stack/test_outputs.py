"""Models of all outputs give through the stack the bytes that one process gives: vectors and objects with one worker
and three, shards of one tile and of many; the epithelium network with stains that the planner pins."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adapters.sqs import SqsQueues
from local import functions
from local.options import QUEUE_PREFIX
from local.pollers import QueuePoller
from tessera.api.rest import RemoteJob, RemoteSlide
from tessera.cli import app
from tests.inference.fetched_weights import epithelium_weights
from tests.inference.objects.drawn_discs import write_picture
from tests.slides import write_svs
from tests.stack.lab import Lab
from wsi.models.builtin import BUILTIN, EPITHELIUM
from wsi.states import JobState

pytestmark = pytest.mark.stack

#: One row of windows of `nuclei`, four across: 752 px are kept of each.
NUCLEI_SIDES = (4 * 752, 400)


def draw_tissue(width: int, height: int) -> object:
    """Return a picture with a nucleus every 48 px, so that they lie over all borders."""
    import numpy as np

    rng = np.random.default_rng(18)
    picture = np.full((height, width, 3), (226, 164, 197), np.int16) + rng.integers(-10, 11, (height, width, 3))
    y, x = np.mgrid[:height, :width]
    for top in range(8, height, 48):
        for left in range(8, width, 48):
            radius = rng.uniform(6, 9)
            part = np.s_[max(0, top - 12) : top + 12, max(0, left - 12) : left + 12]
            inside = np.hypot(x[part] - left, y[part] - top) < radius
            picture[part][inside] = (84, 52, 120)
    return picture.clip(0, 255).astype(np.uint8)


@contextmanager
def planning_shards_of(lab: Lab, tiles: int) -> Iterator[None]:
    """Have plans made with shards of so many tiles."""
    queues = SqsQueues(lab.stack.clients, QUEUE_PREFIX)

    def use(shard_tiles: int | None) -> None:
        lab.stack.pollers["plan"].ask_to_stop()
        lab.stack.pollers["plan"].join()
        options = replace(lab.stack.options, shard_tiles=shard_tiles)
        mapped = functions.make_queue_functions(lab.stack.addresses, options, graphql_url=lab.stack.graphql_url)
        (plan,) = [one for one in mapped if one.queue == "plan"]
        lab.stack.pollers["plan"] = QueuePoller(queues, plan)
        lab.stack.pollers["plan"].start()

    use(tiles)
    try:
        yield
    finally:
        use(lab.stack.options.shard_tiles)


def run_with(
    lab: Lab, slide: RemoteSlide, model: str, *, workers: int, shard_tiles: int
) -> tuple[RemoteJob, dict[str, bytes]]:
    for _ in range(workers):
        lab.stack.workers.start()
    with planning_shards_of(lab, shard_tiles):
        job = lab.run(slide, model=model, seconds=240)
    lab.stack.workers.stop_all()
    assert job.status == JobState.COMPLETED
    assert len(lab.events(job, "shard_committed")) == -(-job.tiles_planned // shard_tiles)
    return job, lab.results(job)


@pytest.mark.parametrize(
    ("model", "sides", "shards", "files"),
    [
        ("efficientnet-lite0", (1200, 900), (5, 800), ("features.h5", "tiles.csv", "tiles.parquet")),
        ("nuclei", NUCLEI_SIDES, (1, 800), ("objects.geojson.gz", "objects.parquet", "tiles.parquet")),
    ],
)
def test_workers_and_shards_change_no_byte_of_vectors_and_objects(
    lab: Lab, tmp_path: Path, model: str, sides: tuple[int, int], shards: tuple[int, int], files: tuple[str, ...]
) -> None:
    slide = write_picture(tmp_path / "tissue.tiff", draw_tissue(*sides), mpp=0.5)  # pyright: ignore[reportArgumentType]
    out = tmp_path / "out"
    ran = CliRunner().invoke(app, ["run", str(slide), "--model", model, "--out", str(out)])
    if ran.exit_code and "cannot be fetched" in ran.output:
        pytest.skip(ran.output)
    assert ran.exit_code == 0, ran.output

    name = lab.register(BUILTIN[model])
    uploaded = lab.upload(slide)
    one, alone = run_with(lab, uploaded, name, workers=1, shard_tiles=shards[1])
    many, together = run_with(lab, uploaded, name, workers=3, shard_tiles=shards[0])
    assert one.tiles_planned == many.tiles_planned > 0
    rows = lab.sql("SELECT topic FROM outbox WHERE body ->> 'job_id' = %s", str(many.job_id))
    assert {row["topic"] for row in rows} & {"stitch", "heavy"} == {"heavy"}
    for file in files:
        assert alone[file] == together[file], file
        assert alone[file] == (out / file).read_bytes(), file
    summary = json.loads(together["summary.json"])
    assert summary["model"]["output"] == BUILTIN[model].output
    if model == "nuclei":
        assert summary["objects"]["found"] > 100


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
