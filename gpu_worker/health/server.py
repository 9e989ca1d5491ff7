"""Answers the kubelet, Prometheus and people about a worker, on one port. The paths are those of the KServe v2 (Open
Inference) protocol, without inference: https://kserve.github.io/website/docs/concepts/architecture/data-plane/v2-protocol

- GET /v2/health/live: 200 while the process works, also while it drains; 503 when only a new process helps.
- GET /v2/health/ready: 200 while it works or waits, 503 once it drains. That is no reason to kill it: a kill would cost
  the checkpoint.
- GET /v2: the server. GET /v2/models/NAME[/versions/VERSION][/ready]: the models that are loaded; 404 for any other.
- GET /metrics: Prometheus' text format.

The status carries the meaning; bodies are for people.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, version
from socketserver import TCPServer
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from prometheus_client import CONTENT_TYPE_LATEST

SERVER = "tessera-worker"
_JSON = "application/json"


class State(StrEnum):
    """A worker's activity."""

    WAITING = "waiting"
    RUNNING = "running"
    LEAVING = "leaving"


class HealthReporter(Protocol):
    """A process whose health is served."""

    @property
    def state(self) -> State: ...

    @property
    def is_alive(self) -> bool: ...

    def format_metrics(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedModel:
    """A loaded model, warmed up."""

    name: str
    version: str
    platform: str  #: "torchscript", "safetensors", "onnx", "builtin"
    batch: int
    height: int  #: px of the model's input
    width: int
    columns: Sequence[str]  #: of its scores
    output: str  #: "scores" | "vectors" | "maps"
    datatype: str  #: of its output, as the Open Inference Protocol names it
    shape: Sequence[int]  #: of its output for a tile


def list_no_models() -> Sequence[ServedModel]:
    """Return no models, for a process that loads none."""
    return ()


class HealthAnswer(NamedTuple):
    """The answer to a GET."""

    status: int
    body: bytes
    media_type: str = _JSON


def serve_health(
    port: int, reporter: HealthReporter, models: Callable[[], Sequence[ServedModel]] = list_no_models
) -> ThreadingHTTPServer:
    """Serve the health of a process, as `serve` does. `models` returns the models that are ready now."""
    return serve(port, lambda path: _answer(path, reporter, models))


class _HealthServer(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        """Take the port as any server of TCP does. `HTTPServer` also looks up its name, which can ask a name server."""
        TCPServer.server_bind(self)


def serve(port: int, answer: Callable[[Sequence[str]], HealthAnswer]) -> ThreadingHTTPServer:
    """Serve on all interfaces, on threads of its own, until `.shutdown()`. `answer` gets the parts of the path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answered = answer([unquote(part) for part in urlsplit(self.path).path.split("/")[1:]])
            self.send_response(answered.status)
            self.send_header("Content-Type", answered.media_type)
            self.send_header("Content-Length", str(len(answered.body)))
            self.end_headers()
            self.wfile.write(answered.body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: probes come every few seconds."""

    server = _HealthServer(("", port), Handler)
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server


def _answer(path: Sequence[str], reporter: HealthReporter, models: Callable[[], Sequence[ServedModel]]) -> HealthAnswer:
    match path:
        case ["metrics"]:
            return HealthAnswer(200, reporter.format_metrics(), CONTENT_TYPE_LATEST)
        case ["v2"]:
            return make_json_answer(200, {"name": SERVER, "version": _version(), "extensions": []})
        case ["v2", "health", "live"]:
            return make_json_answer(200 if reporter.is_alive else 503, {"live": reporter.is_alive})
        case ["v2", "health", "ready"]:
            ready = reporter.state is not State.LEAVING
            return make_json_answer(200 if ready else 503, {"ready": ready, "state": reporter.state.value})
        case ["v2", "models", name, *rest]:
            return _model(name, rest, reporter, models())
        case _:
            return make_json_answer(404, {"error": "There is nothing here; GET /v2 tells what this is."})


def _model(name: str, rest: Sequence[str], reporter: HealthReporter, models: Sequence[ServedModel]) -> HealthAnswer:
    found = [model for model in models if model.name == name]
    match rest:
        case ["versions", wanted, *rest]:
            found = [model for model in found if model.version == wanted]
        case _:
            pass
    if not found or rest not in ([], ["ready"]):
        return make_json_answer(404, {"error": "No such model is loaded here; a worker loads what its shards ask for."})
    if rest:
        ready = reporter.state is not State.LEAVING
        return make_json_answer(200 if ready else 503, {"name": name, "ready": ready})
    model = found[-1]
    return make_json_answer(
        200,
        {
            "name": name,
            "versions": [one.version for one in found],
            "platform": model.platform,
            "inputs": [{"name": "pixels", "datatype": "UINT8", "shape": [model.batch, model.height, model.width, 3]}],
            "outputs": [{"name": model.output, "datatype": model.datatype, "shape": [model.batch, *model.shape]}],
            "parameters": {"columns": list(model.columns)},
        },
    )


def make_json_answer(status: int, body: dict[str, Any]) -> HealthAnswer:
    """Return an answer whose body is JSON."""
    return HealthAnswer(status, json.dumps(body).encode())


def _version() -> str:
    try:
        return version("tessera-wsi")
    except PackageNotFoundError:  # an image has the sources and no distribution
        return "unknown"
