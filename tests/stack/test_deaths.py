"""Workers that die or leave in the middle of a shard lose nothing and count nothing twice."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tessera.api.rest import RemoteJob
from tests.stack.lab import Lab, eventually
from wsi.states import JobState

pytestmark = pytest.mark.stack

BATCH = 32


def checkpointed(lab: Lab, job: RemoteJob, worker_pid: int) -> dict[str, Any] | None:
    """The shard that this worker runs, once it has written a checkpoint of its own and before it is done."""
    rows = lab.sql("SELECT * FROM shards WHERE job_id = %s AND state = 'RUNNING' AND tiles_done < tiles", job.job_id)
    own = [
        row
        for row in rows
        if f"-{worker_pid}-" in row["lease_owner"] and f"/{row['attempt']:03d}/" in (row["checkpoint_key"] or "")
    ]
    return own[0] if own else None


def start_and_await_checkpoint(lab: Lab, job: RemoteJob) -> int:
    worker = lab.stack.workers.start()
    pid = lab.stack.workers.pids[worker]
    eventually(lambda: checkpointed(lab, job, pid), seconds=60, what="a checkpoint of the new worker")
    return worker


def test_a_job_whose_worker_is_killed_three_times_completes_with_exact_counts(lab: Lab, middling_slide: Path) -> None:
    job = lab.submit(lab.upload(middling_slide))
    for _ in range(3):
        lab.stack.workers.kill(start_and_await_checkpoint(lab, job))
        assert lab.api.get_job(job.job_id).status == JobState.RUNNING
    lab.stack.workers.start()
    done = lab.wait(job)

    assert done.status == JobState.COMPLETED
    assert (done.tiles_planned, done.tiles_inferred, done.tiles_unreadable) == (2_400, 2_400, 0)
    leased = lab.events(job, "shard_leased")
    assert len({detail["owner"] for detail in leased}) == 4
    assert sum(detail["attempt"] > 1 for detail in leased) >= 3
    assert sorted(detail["shard"] for detail in lab.events(job, "shard_committed")) == [0, 1, 2]
    rows = list(csv.DictReader(io.StringIO(lab.results(done)["tiles.csv"].decode())))
    assert len({(row["minx"], row["miny"]) for row in rows}) == len(rows) == 2_400
    assert lab.moves(job).count("STITCHING") == 1


def test_a_job_that_was_killed_gives_the_bytes_of_one_that_was_not(lab: Lab, middling_slide: Path) -> None:
    slide = lab.upload(middling_slide)
    job = lab.submit(slide)
    lab.stack.workers.kill(start_and_await_checkpoint(lab, job))
    lab.stack.workers.start()
    killed, calm = lab.results(lab.wait(job)), lab.results(lab.run(slide))
    for name in ("tiles.csv", "tiles.geojson.gz", "heatmap.ome.tif", "tissue.png", "tile_quality.csv"):
        assert killed[name] == calm[name], name


def test_a_worker_told_to_leave_hands_over_all_but_a_batch(lab: Lab, middling_slide: Path) -> None:
    slide = lab.upload(middling_slide)
    job = lab.submit(slide)
    leaving = start_and_await_checkpoint(lab, job)
    assert lab.stack.workers.stop(leaving) == 0

    released = [detail for detail in lab.events(job, "shard_released") if detail["reason"] == "the worker is leaving"]
    assert released
    handed_over = {detail["shard"]: lab.shard(job, detail["shard"]) for detail in released}
    assert all(row["state"] == "QUEUED" and row["failures"] == 0 for row in handed_over.values())
    running = max(handed_over.values(), key=lambda row: row["tiles_done"])
    assert 0 < running["tiles_done"] < running["tiles"]
    finished = sum(detail["tiles"] for detail in lab.events(job, "shard_committed")) + running["tiles_done"]

    follower = lab.stack.workers.start()
    done = lab.wait(job)
    assert done.status == JobState.COMPLETED
    computed_before = computed_tiles(lab.stack.workers.get_log_path(leaving))
    computed_after = computed_tiles(lab.stack.workers.get_log_path(follower))
    assert computed_before <= finished + BATCH
    assert computed_before + computed_after <= done.tiles_planned + BATCH
    assert computed_after == done.tiles_planned - finished


def computed_tiles(log: Path) -> int:
    """What the worker says that it computed: the tiles that its model has seen, kept or not."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return sum(line["tiles"] for line in lines if line.get("message") in ("shard computed", "shard drained"))


def test_a_drained_worker_with_nothing_to_do_exits_by_itself(lab: Lab) -> None:
    worker = lab.stack.workers.start(idle_seconds=1.0)
    assert lab.stack.workers.wait(worker, seconds=30) == 0
