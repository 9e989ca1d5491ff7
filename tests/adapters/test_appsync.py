"""The publisher's connections: as many as the relay sends at once, kept, and without Nagle's delay."""

from __future__ import annotations

import gc
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from adapters.appsync import AppSyncPublisher
from adapters.aws_clients import AwsClients
from tests.updates import any_update
from wsi.errors import SourceUnavailable
from wsi.notices.sending import SENDS_AT_ONCE


class PushService(ThreadingHTTPServer):
    """Answers when `together` requests are under way; counts the connections that were made."""

    request_queue_size = 2 * SENDS_AT_ONCE
    daemon_threads = True

    def __init__(self, together: int, answer: dict[str, object]) -> None:
        self.barrier = threading.Barrier(together, timeout=10)
        self.answer = json.dumps(answer).encode()
        self.connections = 0
        super().__init__(("127.0.0.1", 0), Answers)

    def verify_request(self, request: object, client_address: object) -> bool:
        self.connections += 1
        return True


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: PushService

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.barrier.wait()
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *_: object) -> None:
        pass


def serving(together: int, answer: dict[str, object]) -> Iterator[PushService]:
    with PushService(together, answer) as service:
        thread = threading.Thread(target=service.serve_forever)
        thread.start()
        yield service
        service.shutdown()
        thread.join()


@pytest.fixture
def busy() -> Iterator[PushService]:
    yield from serving(SENDS_AT_ONCE, {"data": {}})


@pytest.fixture
def refusing() -> Iterator[PushService]:
    yield from serving(1, {"errors": [{"message": "Not authorized"}]})


def publisher_to(service: PushService) -> AppSyncPublisher:
    return AppSyncPublisher(AwsClients("eu-central-1"), f"http://127.0.0.1:{service.server_port}/graphql")


def test_pushes_at_once_keep_their_connections_and_wait_for_no_acknowledgement(
    busy: PushService, credentials: None
) -> None:
    publisher = publisher_to(busy)
    with ThreadPoolExecutor(SENDS_AT_ONCE) as pool:
        for _ in range(3):
            list(pool.map(lambda _: publisher.publish(any_update()), range(SENDS_AT_ONCE)))
    assert busy.connections == SENDS_AT_ONCE
    # By type(): to be asked for its class, an object of another test's packages may warn or import.
    sockets = [one for one in gc.get_objects() if issubclass(type(one), socket.socket)]
    ours = [one for one in sockets if leads_to(one, busy.server_port)]
    assert len(ours) == SENDS_AT_ONCE
    assert all(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in ours)


def test_an_answer_of_200_with_errors_is_a_refusal(refusing: PushService, credentials: None) -> None:
    with pytest.raises(SourceUnavailable, match="refused"):
        publisher_to(refusing).publish(any_update())


def leads_to(one: socket.socket, port: int) -> bool:
    try:
        return one.getpeername()[1] == port
    except (OSError, IndexError):
        return False
