"""Calls of the API: repeated where that does no harm, and typed errors with the API's own sentence."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

from tessera.api.transport import ATTEMPTS, LONGEST_PAUSE, Transport, compute_pause, make_error
from tests.tessera.server import JOB, SLIDE, Installation, served
from wsi.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    RequestError,
    SourceUnavailable,
    TesseraError,
    TooManyRequests,
    Unauthenticated,
)


@contextmanager
def transport_to(url: str, pauses: list[float]) -> Iterator[Transport]:
    transport = Transport(url, "tsk_abc_secret", sleep=pauses.append)
    try:
        yield transport
    finally:
        transport.close()


def test_a_repeatable_call_survives_a_server_that_stumbles() -> None:
    installation, pauses = Installation(completed=True, fail_calls={f"GET /slides/{SLIDE}": 3}), list[float]()
    with served(installation) as url, transport_to(url, pauses) as transport:
        assert transport.call("GET", f"/slides/{SLIDE}", repeatable=True)["status"] == "READY"
    assert len(pauses) == 3


def test_it_gives_up_with_the_servers_sentence() -> None:
    installation, pauses = Installation(fail_calls={f"GET /slides/{SLIDE}": 99}), list[float]()
    with (
        served(installation) as url,
        transport_to(url, pauses) as transport,
        pytest.raises(SourceUnavailable, match="Try again in a moment"),
    ):
        transport.call("GET", f"/slides/{SLIDE}", repeatable=True)
    assert len(installation.calls) == ATTEMPTS


def test_a_call_that_would_make_a_second_thing_is_sent_once() -> None:
    installation = Installation(fail_calls={"POST /uploads": 1})
    with (
        served(installation) as url,
        transport_to(url, []) as transport,
        pytest.raises(SourceUnavailable),
    ):
        transport.call("POST", "/uploads", body={"files": []}, repeatable=False)
    assert installation.calls == ["POST /uploads"]


def test_a_server_that_is_not_there_is_said_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with transport_to(url, []) as transport, pytest.raises(SourceUnavailable, match="cannot be reached"):
            transport.call("GET", f"/jobs/{JOB}", repeatable=True)


def test_the_address_may_name_the_base_path_or_not() -> None:
    with served(Installation()) as url:
        for address in (url, f"{url}/", f"{url}/api/v1/wsi", f"{url}/api/v1/wsi/"):
            with transport_to(address, []) as transport:
                assert transport.call("GET", f"/slides/{SLIDE}", repeatable=False)["slide_id"] == SLIDE


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, RequestError),
        (401, Unauthenticated),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (422, Invalid),
        (429, TooManyRequests),
        (500, SourceUnavailable),
        (503, SourceUnavailable),
    ],
)
def test_a_problem_becomes_the_error_of_its_status(status: int, kind: type[TesseraError]) -> None:
    problem = {"type": "/problems/x", "title": "X", "status": status, "detail": "The sentence."}
    error = make_error(httpx.Response(status, json=problem))
    assert type(error) is kind
    assert error.sentence == "The sentence."


def test_an_answer_that_is_no_problem_still_gives_a_sentence() -> None:
    assert make_error(httpx.Response(502, text="<html>")).sentence == "The server answered with status 502."


def test_pauses_are_bounded_and_never_shorter_than_asked() -> None:
    assert all(0 <= compute_pause(attempt) <= LONGEST_PAUSE for attempt in range(50))
    assert compute_pause(0, asked=20.0) == 20.0


def test_a_quota_that_is_free_in_hours_is_told_and_not_waited_for() -> None:
    calls: list[str] = []

    class Beyond(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            calls.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"detail": "The limit is reached."}).encode()
            self.send_response(429)
            self.send_header("Retry-After", "30" if len(calls) == 1 else "7200")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Beyond)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    slept: list[float] = []
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        with transport_to(url, slept) as transport, pytest.raises(TooManyRequests, match="The limit is reached"):
            transport.call("POST", "/jobs", body={}, repeatable=True)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert (len(calls), slept) == (2, [30.0])
