"""A machine with several GPUs, here CPUs in their place: one parent, a worker each, one port, one end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from adapters.settings import processes
from adapters.settings import worker_metrics as names
from local.environment import make_child_environ
from local.options import MODELS, QUEUE_PREFIX, RESULTS, SHARED, SLIDES
from local.processes import children
from local.workers import ROOT
from tests.stack.lab import Lab, eventually
from wsi.states import JobState, ShardState

pytestmark = pytest.mark.stack

#: `python -m gpu_worker` on a machine whose driver knows so many GPUs.
PROGRAM = """
import gpu_worker.__main__ as worker
from inference.all_devices import OneDevice
worker.list_cuda_devices = lambda: tuple(OneDevice(title=f"cuda:{{n}}", name="cpu") for n in range({gpus}))
worker.main()
"""


def three_ports() -> int:
    """The first of three that lie beside each other and that nobody listens on."""
    for port in range(21_000, 30_000, 3):
        try:
            for one in range(port, port + 3):
                with socket.socket() as tried:
                    tried.bind(("", one))
        except OSError:
            continue
        return port
    raise AssertionError("no port is free")


@pytest.fixture
def port() -> int:
    return three_ports()


@pytest.fixture
def gpus() -> int:
    return 2


@pytest.fixture
def parent(lab: Lab, tmp_path: Path, port: int, gpus: int) -> Iterator[subprocess.Popen[bytes]]:
    settings = processes.WorkerSettings(
        **lab.stack.addresses.make_common_settings(lab.stack.addresses.system_dsn),
        slides_bucket=SLIDES,
        results_bucket=RESULTS,
        models_bucket=MODELS,
        allowed_buckets=SHARED,
        queue_prefix=QUEUE_PREFIX,
        idle_seconds=0,
        lease_seconds=6,
        decode_workers=1,
        device="cuda:all",
        health_port=port,
        model_cache=str(tmp_path / "models"),
        scratch=str(tmp_path / "scratch"),
    )
    command = [sys.executable, "-c", PROGRAM.format(gpus=gpus)]
    started = children.start(
        command, env=make_child_environ(settings.make_environ()), log=tmp_path / "parent.log", cwd=ROOT
    )
    yield started
    children.stop(started, seconds=90)


def asked(port: int, path: str) -> httpx.Response | None:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/{path}", timeout=5, trust_env=False)
    except httpx.TransportError:
        return None  # it starts


def live(port: int) -> bool:
    said = asked(port, "v2/health/live")
    return said is not None and said.status_code == 200


def test_two_workers_share_a_job_are_asked_on_one_port_and_leave_when_the_parent_is_told(
    lab: Lab, large_slide: Path, parent: subprocess.Popen[bytes], port: int
) -> None:
    eventually(lambda: live(port), seconds=60, what="two workers that live")
    job = lab.run(lab.upload(large_slide), seconds=240)
    assert (job.status, job.tiles_inferred) == (JobState.COMPLETED, 10_000)
    assert len(lab.commits_by_worker(job)) == 2
    said = asked(port, "metrics")
    assert said is not None
    counted = {
        line.partition("}")[0].partition('gpu="')[2][:6]: float(line.split()[-1])
        for line in said.text.splitlines()
        if line.startswith("wsi_shards_total{") and 'outcome="committed"' in line
    }
    assert set(counted) == {"cuda:0", "cuda:1"}
    assert sum(counted.values()) == len(lab.events(job, "shard_committed"))
    parent.send_signal(signal.SIGTERM)
    assert parent.wait(90) == 0


def test_a_worker_that_is_killed_ends_the_parent_once_the_other_has_given_its_shard_back(
    lab: Lab, large_slide: Path, parent: subprocess.Popen[bytes], port: int, tmp_path: Path
) -> None:
    eventually(lambda: live(port), seconds=60, what="two workers that live")
    job = lab.submit(lab.upload(large_slide))
    running = "SELECT index FROM shards WHERE job_id = %s AND state = %s"
    eventually(lambda: len(lab.sql(running, job.job_id, ShardState.RUNNING)) >= 2, seconds=60, what="work for both")
    lines = [json.loads(line) for line in (tmp_path / "parent.log").read_text().splitlines()]
    pids = {line["device"]: line["pid"] for line in lines if line["message"] == "worker started"}
    os.kill(pids["cuda:1"], signal.SIGKILL)
    assert parent.wait(90) == 128 + signal.SIGKILL
    reasons = {detail.get("reason") for detail in lab.events(job, "shard_released")}
    assert "the worker is leaving" in reasons
    lab.stack.workers.start()
    assert lab.wait(job, seconds=240).tiles_inferred == 10_000


@pytest.mark.parametrize("gpus", [1])
def test_one_gpu_needs_no_parent(parent: subprocess.Popen[bytes], port: int) -> None:
    eventually(lambda: live(port), seconds=60, what="a worker that lives")
    said = asked(port, "metrics")
    assert said is not None
    assert names.LEASES_HELD in said.text
    assert "gpu=" not in said.text
    parent.send_signal(signal.SIGTERM)
    assert parent.wait(90) == 0
