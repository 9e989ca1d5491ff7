"""What the kubelet and Prometheus ask a worker, on one port.

- GET /live: 200 while the process works, also while it leaves; 503 when only a new process helps.
- GET /health: 200 while it works or waits, 503 once it leaves. No reason to kill it: that would cost the checkpoint.
- GET /metrics: Prometheus' text format.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from prometheus_client import CONTENT_TYPE_LATEST

_JSON = "application/json"


class State(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    LEAVING = "leaving"


class Asked(Protocol):
    @property
    def state(self) -> State: ...

    @property
    def is_alive(self) -> bool: ...

    def exposition(self) -> bytes:
        """The metrics."""
        ...


def serve_health(port: int, asked: Asked) -> ThreadingHTTPServer:
    """Answers on all interfaces, on threads of its own, until `.shutdown()`."""

    def live() -> tuple[int, str, bytes]:
        return 200 if asked.is_alive else 503, _JSON, json.dumps({"alive": asked.is_alive}).encode()

    def health() -> tuple[int, str, bytes]:
        state = asked.state
        return 503 if state is State.LEAVING else 200, _JSON, json.dumps({"state": state}).encode()

    def metrics() -> tuple[int, str, bytes]:
        return 200, CONTENT_TYPE_LATEST, asked.exposition()

    answers: dict[str, Callable[[], tuple[int, str, bytes]]] = {"/live": live, "/health": health, "/metrics": metrics}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path not in answers:
                self.send_error(404)
                return
            status, media_type, body = answers[self.path]()
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """A probe every few seconds is no news."""

    server = ThreadingHTTPServer(("", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server
