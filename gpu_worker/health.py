"""GET /health for the kubelet: 200 while the worker works or waits, 503 once it leaves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def serve_health(port: int, state: Callable[[], str]) -> ThreadingHTTPServer:
    """Answers on all interfaces, on a thread of its own, until `.shutdown()`. `state()`: "waiting", "running" or
    "leaving"."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/health":
                self.send_error(404)
                return
            now = state()
            body = json.dumps({"state": now}).encode()
            self.send_response(503 if now == "leaving" else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """A probe every few seconds is no news."""

    server = ThreadingHTTPServer(("", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server
