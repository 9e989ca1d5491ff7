"""Models, devices, decoders and reads that fail a worker: what a lab sees of it, and what becomes of the worker."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
import torch

from gpu_worker.health.watchdog import EXIT_CODE
from inference.models.package import read_package
from tests.inference.packages import network, write_package
from tests.slides import write_svs
from tests.stack.hanging_proxy import hanging
from tests.stack.lab import Lab, eventually
from wsi.slide.opening import open_local_source, open_slide
from wsi.states import JobState

pytestmark = pytest.mark.stack

SIDE = 240  #: px of a tile of the file


class Changed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.network = network()


class NotANumber(Changed):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.network(x) * float("nan")


class TooLarge(Changed):
    """Of tiles it wants four petabytes; of zeros, nothing."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = self.network(x)
        if bool((x != 0).any()):
            logits = logits + torch.zeros([1 << 50])[:1]
        return logits


@pytest.fixture(scope="module")
def small_slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_svs(tmp_path_factory.mktemp("slides") / "small.svs", width=2000, height=1600)


def registered(lab: Lab, folder: Path, module: torch.nn.Module) -> str:
    package = write_package(folder, module)
    return lab.register(read_package(package), package)


def decoders_of(worker_pid: int) -> list[int]:
    """The processes that a worker has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # gone meanwhile
            continue
        if int(parent) == worker_pid and state != "Z":
            found.append(int(stat.parent.name))
    return found


def test_models_that_fail_end_or_leave_their_own_jobs_and_the_worker_goes_on(
    lab: Lab, small_slide: Path, tmp_path: Path
) -> None:
    slide = lab.upload(small_slide)
    no_number = lab.submit(slide, model=registered(lab, tmp_path / "no-number", NotANumber()))
    too_large = lab.submit(slide, model=registered(lab, tmp_path / "too-large", TooLarge()))
    lab.stack.workers.start()
    failed = lab.wait(no_number)
    assert (failed.status, failed.reason) == (JobState.FAILED, "model_failed")
    assert "values that are not numbers" in (failed.sentence or "")
    given_back = eventually(lambda: lab.events(too_large, "shard_released") or None, seconds=30, what="the shard back")
    assert {detail["reason"] for detail in given_back} == {"unsuitable_gpu"}
    assert lab.run(slide).status == JobState.COMPLETED
    assert lab.api.get_job(too_large.job_id).status == JobState.RUNNING, "a larger device may come"
    assert (lab.shard(too_large, 0)["state"], lab.shard(too_large, 0)["failures"]) == ("QUEUED", 0)
    assert len(lab.events(too_large, "shard_released")) == len(given_back) == 1
    lab.cancel(too_large)


def test_decoder_processes_that_are_killed_cost_no_tile_and_no_attempt(lab: Lab, tmp_path: Path) -> None:
    """They are stopped before they get their first tiles, so that they hold some when they die."""
    side = 30 * 256
    slide = lab.upload(write_svs(tmp_path / "a.svs", width=side, height=side, tissue=(0, 0, side, side)))
    worker = lab.stack.workers.start(decode_in_processes=True, decode_workers=2)
    pid = lab.stack.workers.pids[worker]
    killed = eventually(lambda: len(found := decoders_of(pid)) == 2 and found, seconds=30, what="two decoders")
    for decoder in killed:
        os.kill(decoder, signal.SIGSTOP)
    job = lab.submit(slide)
    eventually(lambda: lab.events(job, "shard_leased") or None, seconds=60, what="a lease")
    time.sleep(1.5)  # nothing tells when the first tiles are fetched
    for decoder in killed:
        os.kill(decoder, signal.SIGKILL)
    done = lab.wait(job)
    assert done.status == JobState.COMPLETED
    assert (done.tiles_inferred, done.tiles_unreadable) == (done.tiles_planned, 0)
    assert {detail["attempt"] for detail in lab.events(job, "shard_leased")} == {1}
    assert len(set(decoders_of(pid)) - set(killed)) == 2
    said = [json.loads(line) for line in lab.stack.workers.get_log_path(worker).read_text().splitlines()]
    held = [line["tasks"] for line in said if line["message"] == "a decoder process ended"]
    assert len(held) == 2
    assert min(held) > 0


#: Loaded by Python as it begins, by the worker and its decoders: a codec that one tile's bytes bring down.
ENDS_AT = """
import sys
if "inference.decoding.child" in sys.orig_argv:
    import os, simplejpeg
    whole = simplejpeg.decode_jpeg
    def decode_jpeg(data, **asked):
        if bytes(data).endswith({poison!r}):
            os.kill(os.getpid(), 9)  # as a crash, and leaves no core dump
        return whole(data, **asked)
    simplejpeg.decode_jpeg = decode_jpeg
"""


def test_a_tile_that_brings_its_decoder_down_is_unreadable_and_the_others_are_not(
    lab: Lab, small_slide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = open_slide(open_local_source(small_slide))
    ends = [tile.pieces[0][-64:] for tile in reader.read_tiles(0, range(9 * 7))]
    reader.close()
    poisoned = next(number for number in range(9, 9 * 7) if ends.count(ends[number]) == 1)
    (tmp_path / "sitecustomize.py").write_text(ENDS_AT.format(poison=ends[poisoned]))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    lab.stack.workers.start(decode_in_processes=True)
    job = lab.run(lab.upload(small_slide))
    assert job.status == JobState.COMPLETED_WITH_UNREADABLE_TILES
    results = lab.results(job)
    lost = json.loads(results["summary.json"])["unreadable"]
    reason = f"file tile {poisoned}: its decoder process ended while decoding it"
    assert {tile["reason"] for tile in lost} == {reason}
    x, y = poisoned % 9 * SIDE, poisoned // 9 * SIDE
    boxes = [tuple(map(int, row.split(b",")[:3])) for row in results["tiles.csv"].splitlines()[1:]]
    assert len(boxes) + len(lost) == job.tiles_planned
    assert not [box for box in boxes if x - box[2] < box[0] < x + SIDE and y - box[2] < box[1] < y + SIDE]


def test_a_read_that_hangs_is_named_and_the_next_worker_finishes(lab: Lab, small_slide: Path) -> None:
    job = lab.submit(lab.upload(small_slide))
    with hanging(lab.stack.addresses.endpoint_url, "GET /tessera-slides/") as url:
        worker = lab.stack.workers.start(endpoint_url=url, stuck_seconds=1.0)
        assert lab.stack.workers.wait(worker, seconds=60) == EXIT_CODE
    (failure,) = lab.events(job, "shard_failed")
    assert "the fetch stage hangs" in failure["reason"]
    assert (lab.shard(job, 0)["state"], lab.shard(job, 0)["failures"]) == ("QUEUED", 1)
    lab.stack.workers.start()
    done = lab.wait(job)
    assert done.status == JobState.COMPLETED
    assert done.tiles_inferred == done.tiles_planned > 0
