from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from gpu_worker.health import State, serve_health


@dataclass
class Patient:
    state: State = State.WAITING
    is_alive: bool = True

    def exposition(self) -> bytes:
        return b"tessera_worker_leases_held 1.0\n"


@pytest.fixture
def patient() -> Patient:
    return Patient()


@pytest.fixture
def url(patient: Patient) -> Iterator[str]:
    server = serve_health(0, patient)
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def ask(url: str) -> tuple[int, bytes]:
    try:
        with urlopen(url, timeout=5) as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()


@pytest.mark.parametrize(
    ("state", "status"), [(State.WAITING, 200), (State.RUNNING, 200), (State.LEAVING, 503)], ids=str
)
def test_health_is_200_until_the_worker_leaves(patient, url, state, status):
    patient.state = state
    answered, body = ask(f"{url}/health")
    assert (answered, json.loads(body)) == (status, {"state": state.value})


@pytest.mark.parametrize("state", State)
def test_a_worker_that_leaves_is_alive(patient, url, state):
    patient.state = state
    assert ask(f"{url}/live") == (200, b'{"alive": true}')


def test_live_is_503_when_only_a_new_process_helps(patient, url):
    patient.is_alive = False
    assert ask(f"{url}/live")[0] == 503
    assert ask(f"{url}/health")[0] == 200


def test_metrics_are_text_and_anything_else_is_not_there(patient, url):
    with urlopen(f"{url}/metrics", timeout=5) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        assert answer.read() == patient.exposition()
    assert ask(f"{url}/")[0] == 404
