"""A parent and its workers: here small programs in their place, that end, hang and are told as workers are."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.settings import processes
from gpu_worker.drain import Drain
from gpu_worker.health.metrics import Model, ShardMetrics
from gpu_worker.health.server import HealthAnswer, State, make_json_answer, serve, serve_health
from gpu_worker.health.supervised import answer_for_workers
from gpu_worker.leases.settlement import ShardOutcome
from gpu_worker.supervisor import Supervisor, make_worker_settings
from inference.all_devices import OneDevice

DEVICES = [
    OneDevice(title="cuda:0", name="cuda", visible="GPU-a"),
    OneDevice(title="cuda:1", name="cuda", visible="GPU-b"),
]


def settings(**values: Any) -> processes.WorkerSettings:
    return processes.WorkerSettings(
        region="eu-central-1",
        database_dsn="",
        slides_bucket="s",
        results_bucket="r",
        models_bucket="m",
        device="cuda:all",
        **values,
    )


def program(body: str) -> list[str]:
    """A worker that writes its environment beside itself, then does `body`."""
    begin = """
import json, os, signal, sys, time
mine = os.environ["CUDA_VISIBLE_DEVICES"]
with open(os.environ["FOLDER"] + "/" + mine + ".new", "w") as file:
    json.dump({"pid": os.getpid(), **{n: v for n, v in os.environ.items() if n.startswith("TESSERA_")}}, file)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
os.replace(file.name, file.name.removesuffix(".new"))
"""
    return [sys.executable, "-c", begin + body]


class Supervised:
    def __init__(self, folder: Path, body: str) -> None:
        self.folder = folder
        self.drain = Drain()
        self.supervisor = Supervisor(
            settings(health_port=9000),
            DEVICES,
            self.drain,
            command=program(body),
            environ={**os.environ, "FOLDER": str(folder)},
        )
        self.status: int | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self.status = self.supervisor.run()

    def begun(self) -> Mapping[str, dict[str, Any]]:
        """What each worker wrote, by the device that it sees."""
        eventually(lambda: all((self.folder / str(one.visible)).exists() for one in DEVICES))
        return {str(one.visible): json.loads((self.folder / str(one.visible)).read_text()) for one in DEVICES}

    def ended(self) -> int | None:
        self._thread.join(20)
        assert not self._thread.is_alive()
        return self.status


def eventually(look: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60  # interpreters start slowly on a busy machine
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_each_worker_sees_one_device_and_has_a_port_of_its_own(tmp_path: Path) -> None:
    run = Supervised(tmp_path, "time.sleep(60)")
    begun = run.begun()
    assert [one["TESSERA_DEVICE"] for one in begun.values()] == ["cuda", "cuda"]
    assert [one["TESSERA_HEALTH_PORT"] for one in begun.values()] == ["9001", "9002"]
    assert run.supervisor.ports == {"cuda:0": 9001, "cuda:1": 9002}
    assert list(run.supervisor.pids.values()) == [one["pid"] for one in begun.values()]
    run.drain.request()
    assert run.ended() == 0
    assert run.supervisor.ports == {}


def test_a_worker_without_work_ends_alone_and_the_rest_goes_on(tmp_path: Path) -> None:
    run = Supervised(tmp_path, "mine == 'GPU-a' or time.sleep(60)")
    eventually(lambda: list(run.supervisor.ports) == ["cuda:1"])
    assert not run.drain.requested
    run.drain.request()
    assert run.ended() == 0


@pytest.mark.parametrize(("end", "status"), [("sys.exit(70)", 70), ("os.kill(os.getpid(), 9)", 137)])
def test_a_worker_that_breaks_takes_the_others_with_it_drained(tmp_path: Path, end: str, status: int) -> None:
    drained = tmp_path / "drained"
    run = Supervised(
        tmp_path,
        f"""
if mine == "GPU-a":
    while not os.path.exists(os.environ["FOLDER"] + "/GPU-b"): time.sleep(0.01)
    {end}
signal.signal(signal.SIGTERM, lambda *_: (open({str(drained)!r}, "w").close(), sys.exit(0)))
time.sleep(60)
""",
    )
    assert run.ended() == status
    assert drained.exists()
    assert run.drain.requested


def test_a_worker_that_breaks_while_it_drains_is_told(tmp_path: Path) -> None:
    run = Supervised(
        tmp_path, "signal.signal(signal.SIGTERM, lambda *_: sys.exit(70 * (mine == 'GPU-b'))); time.sleep(60)"
    )
    run.begun()
    time.sleep(0.2)  # the second handler is set
    run.drain.request()
    assert run.ended() == 70


def test_worker_settings_a_worker_are_those_of_all_but_for_device_decoders_and_port() -> None:
    one = make_worker_settings(settings(decode_workers=5, idle_seconds=7), DEVICES, 1)
    assert (one.device, one.decode_workers, one.idle_seconds, one.health_port) == ("cuda", 5, 7, None)


PARENT = """
import os, sys
from gpu_worker.drain import Drain
from gpu_worker.supervisor import Supervisor
from tests.gpu_worker.test_supervisor import DEVICES, settings
Supervisor(settings(), DEVICES, Drain(), command=[sys.executable, "-c", sys.argv[1]]).run()
"""

CHILD = """
import os, sys
from gpu_worker.drain import Drain, drain_with_parent
drain = Drain()
drain_with_parent(int(sys.argv[1]), drain)
name = sys.argv[0] + os.environ["FOLDER"] + "/" + os.environ["CUDA_VISIBLE_DEVICES"]
open(name, "w").close()
if drain.wait(30):
    open(name + ".left", "w").close()
"""


def test_workers_whose_parent_is_killed_drain(tmp_path: Path) -> None:
    child = CHILD.replace("sys.argv[0] + ", "")
    parent = subprocess.Popen([sys.executable, "-c", PARENT, child], env={**os.environ, "FOLDER": str(tmp_path)})
    eventually(lambda: all((tmp_path / str(one.visible)).exists() for one in DEVICES))
    parent.kill()
    parent.wait()
    eventually(lambda: all((tmp_path / f"{one.visible}.left").exists() for one in DEVICES))


def test_the_parent_loads_neither_torch_nor_the_worker() -> None:
    check = """
import sys
import gpu_worker.__main__, gpu_worker.supervisor, gpu_worker.health.supervised
sys.exit(bool({"torch", "boto3", "psycopg", "gpu_worker.worker"} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@pytest.mark.parametrize("driver", [{}, {"CUDA_VISIBLE_DEVICES": ""}])
def test_a_machine_without_a_gpu_says_what_to_do_and_exits_69(driver: dict[str, str]) -> None:
    environ = {**os.environ, **settings().make_environ(), "CUDA_VISIBLE_DEVICES": "", **driver}
    said = subprocess.run(
        [sys.executable, "-m", "gpu_worker"], env=environ, capture_output=True, text=True, check=False
    )
    assert said.returncode == 69
    (line,) = said.stderr.splitlines()
    assert "no CUDA device" in json.loads(line)["message"]
    assert "run with device cpu" in json.loads(line)["message"]


class Patient:
    def __init__(self, shards: int) -> None:
        self.state = State.RUNNING
        self.is_alive = True
        self.metrics = ShardMetrics(lambda: 2)
        for _ in range(shards):
            self.metrics.count_shard(ShardOutcome.COMMITTED, Model("m", "1"))

    def format_metrics(self) -> bytes:
        return self.metrics.format_metrics()


@pytest.fixture
def two() -> Any:
    patients = [Patient(3), Patient(4)]
    servers = [serve_health(0, patient) for patient in patients]
    yield patients, {f"cuda:{index}": server.server_address[1] for index, server in enumerate(servers)}
    for server in servers:
        server.shutdown()
        server.server_close()


def asked(path: str, ports: Mapping[str, int], *, leaving: bool = False) -> tuple[int, Any]:
    said = answer_for_workers(path.split("/"), ports, leaving=leaving)
    return said.status, json.loads(said.body)


def test_all_are_live_while_each_is(two: Any) -> None:
    patients, ports = two
    assert asked("v2/health/live", ports) == (200, {"live": True, "gpus": {title: {"live": True} for title in ports}})
    patients[1].is_alive = False
    status, said = asked("v2/health/live", ports)
    assert (status, said["gpus"]) == (503, {"cuda:0": {"live": True}, "cuda:1": {"live": False}})


def test_one_that_does_not_answer_is_not_live() -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        status, said = asked("v2/health/live", {"cuda:0": unheard.getsockname()[1]})
    assert status == 503
    assert "does not answer" in said["gpus"]["cuda:0"]["error"]


def test_all_are_ready_while_one_is_and_none_is_told_to_leave(two: Any) -> None:
    patients, ports = two
    patients[0].state = State.LEAVING
    assert asked("v2/health/ready", ports)[0] == 200
    assert asked("v2/health/ready", ports, leaving=True)[0] == 503
    patients[1].state = State.LEAVING
    assert asked("v2/health/ready", ports)[0] == 503


def test_metrics_are_those_of_each_worker_with_its_gpu(two: Any) -> None:
    _, ports = two
    lines = answer_for_workers(["metrics"], ports, leaving=False).body.decode().splitlines()
    counted = [line for line in lines if line.startswith("wsi_shards_total{") and 'outcome="committed"' in line]
    assert counted == [
        'wsi_shards_total{gpu="cuda:0",model="m",outcome="committed",version="1"} 3.0',
        'wsi_shards_total{gpu="cuda:1",model="m",outcome="committed",version="1"} 4.0',
    ]
    assert [line for line in lines if line.startswith("# TYPE wsi_shards_total")] == ["# TYPE wsi_shards_total counter"]
    assert 'wsi_shard_seconds_count{gpu="cuda:1",model="m",version="1"} 0.0' in lines


def test_a_model_is_told_by_whoever_has_it(two: Any) -> None:
    _, ports = two
    having = serve(0, lambda path: make_json_answer(200, {"path": list(path)}))
    try:
        assert asked("v2/models/lung", ports)[0] == 404
        both = {**ports, "cuda:2": having.server_address[1]}
        found: HealthAnswer = answer_for_workers(["v2", "models", "breast/tumour"], both, leaving=False)
        assert json.loads(found.body) == {"path": ["v2", "models", "breast/tumour"]}
    finally:
        having.shutdown()
        having.server_close()


@pytest.mark.gpu
def test_two_gpus_have_two_workers_that_leave_when_told() -> None:
    pytest.importorskip("torch")
    from inference.all_devices import list_cuda_devices

    if len(list_cuda_devices()) < 2:
        pytest.skip("needs two CUDA devices")
    environ = {**os.environ, **settings().make_environ()}
    parent = subprocess.Popen([sys.executable, "-m", "gpu_worker"], env=environ, stderr=subprocess.PIPE, text=True)
    with parent:
        assert parent.stderr is not None
        for line in parent.stderr:
            if "worker started" in line and json.loads(line)["device"] == "cuda:1":
                break
        parent.send_signal(signal.SIGTERM)
        parent.communicate(timeout=90)
    assert parent.returncode == 0
