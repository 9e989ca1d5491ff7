"""Ten thousand tiles through the whole stack: how many workers take part changes no byte of the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera.api.rest import RemoteJob
from tests.stack.lab import Lab
from wsi.states import JobState

pytestmark = pytest.mark.stack


def run_with(lab: Lab, slide: Path, workers: int) -> tuple[RemoteJob, dict[str, bytes]]:
    uploaded = lab.upload(slide)
    for _ in range(workers):
        lab.stack.workers.start()
    job = lab.run(uploaded, seconds=240)
    return job, lab.results(job)


def test_one_worker_and_three_give_the_same_tables(lab: Lab, large_slide: Path) -> None:
    alone, alone_results = run_with(lab, large_slide, 1)
    lab.stack.workers.stop_all()
    together, together_results = run_with(lab, large_slide, 3)

    for job in (alone, together):
        assert job.status == JobState.COMPLETED
        assert (job.tiles_planned, job.tiles_inferred, job.tiles_unreadable) == (10_000, 10_000, 0)
        assert len(lab.events(job, "shard_committed")) >= 12
    assert len(lab.commits_by_worker(alone)) == 1
    shares = lab.commits_by_worker(together)
    assert len(shares) == 3
    assert min(shares.values()) >= 2, shares
    for name in ("tiles.csv", "tiles.geojson.gz", "heatmap.ome.tif", "tissue.png", "tile_quality.csv"):
        assert alone_results[name] == together_results[name], name
    assert alone_results["tiles.csv"].count(b"\n") == 10_001
