from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from gpu_worker.health.server import ServedModel, State, serve_health


def served(version: str, name: str = "breast/tumour") -> ServedModel:
    return ServedModel(
        name=name,
        version=version,
        platform="torchscript",
        batch=64,
        height=224,
        width=224,
        columns=("prob_Tumor",),
        output="scores",
        datatype="FP32",
        shape=(1,),
    )


@dataclass
class Patient:
    state: State = State.WAITING
    is_alive: bool = True
    models: list[ServedModel] = field(default_factory=lambda: [served("1"), served("2")])

    def format_metrics(self) -> bytes:
        return b"wsi_worker_leases_held 1.0\n"


@pytest.fixture
def patient() -> Patient:
    return Patient()


@pytest.fixture
def url(patient: Patient) -> Iterator[str]:
    server = serve_health(0, patient, lambda: patient.models)
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def ask(url: str) -> tuple[int, Any]:
    try:
        with urlopen(url, timeout=5) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.parametrize(
    ("state", "status"), [(State.WAITING, 200), (State.RUNNING, 200), (State.LEAVING, 503)], ids=str
)
def test_a_worker_is_ready_until_it_leaves(patient, url, state, status):
    patient.state = state
    assert ask(f"{url}/v2/health/ready") == (status, {"ready": status == 200, "state": state.value})
    assert ask(f"{url}/v2/models/breast%2Ftumour/ready")[0] == status


@pytest.mark.parametrize("state", State)
def test_a_worker_that_leaves_is_alive(patient, url, state):
    patient.state = state
    assert ask(f"{url}/v2/health/live") == (200, {"live": True})


def test_live_is_503_when_only_a_new_process_helps(patient, url):
    patient.is_alive = False
    assert ask(f"{url}/v2/health/live") == (503, {"live": False})
    assert ask(f"{url}/v2/health/ready")[0] == 200


def test_the_server_says_what_it_is(url):
    status, told = ask(f"{url}/v2")
    assert status == 200
    assert (told["name"], told["extensions"]) == ("tessera-worker", [])
    assert told["version"]


def test_a_loaded_model_is_described_by_name_and_by_version(url):
    status, told = ask(f"{url}/v2/models/breast%2Ftumour")
    assert (status, told["versions"], told["platform"]) == (200, ["1", "2"], "torchscript")
    assert told["inputs"] == [{"name": "pixels", "datatype": "UINT8", "shape": [64, 224, 224, 3]}]
    assert told["outputs"] == [{"name": "scores", "datatype": "FP32", "shape": [64, 1]}]
    status, told = ask(f"{url}/v2/models/breast%2Ftumour/versions/1")
    assert (status, told["versions"]) == (200, ["1"])
    assert ask(f"{url}/v2/models/breast%2Ftumour/versions/2/ready") == (200, {"name": "breast/tumour", "ready": True})


@pytest.mark.parametrize("path", ["/", "/live", "/v2/", "/v2/models", "/v2/models/lung", "/v2/models/lung/ready"])
def test_what_is_not_here_is_404(url, path):
    assert ask(f"{url}{path}")[0] == 404


@pytest.mark.parametrize("path", ["versions/3/ready", "versions", "infer", "ready/1"])
def test_of_a_loaded_model_only_what_it_says_of_itself_is_here(url, path):
    assert ask(f"{url}/v2/models/breast%2Ftumour/{path}")[0] == 404


def test_a_model_that_was_dropped_is_no_longer_ready(patient, url):
    patient.models.clear()
    assert ask(f"{url}/v2/models/breast%2Ftumour/ready")[0] == 404
    assert ask(f"{url}/v2/health/ready")[0] == 200


def test_metrics_are_text(patient, url):
    with urlopen(f"{url}/metrics", timeout=5) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        assert answer.read() == patient.format_metrics()
