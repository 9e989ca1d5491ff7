"""What the kubelet, Prometheus and people ask a worker, on one port. The paths of the KServe v2 (Open Inference)
protocol that ask for no inference: https://kserve.github.io/website/docs/concepts/architecture/data-plane/v2-protocol

- GET /v2/health/live: 200 while the process works, also while it leaves; 503 when only a new process helps.
- GET /v2/health/ready: 200 while it works or waits, 503 once it leaves. No reason to kill it: that would cost the
  checkpoint.
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
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from prometheus_client import CONTENT_TYPE_LATEST

SERVER = "tessera-worker"
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """A loaded model, warmed up."""

    name: str
    version: str
    platform: str  #: "torchscript", "safetensors", "onnx", "builtin"
    batch: int
    height: int  #: px of the model's input
    width: int
    columns: Sequence[str]  #: of its output


def no_models() -> Sequence[Served]:
    return ()


class Answer(NamedTuple):
    """To a GET."""

    status: int
    body: bytes
    media_type: str = _JSON


def serve_health(port: int, asked: Asked, models: Callable[[], Sequence[Served]] = no_models) -> ThreadingHTTPServer:
    """Answers as `serve` does. `models`: those that are ready now."""
    return serve(port, lambda path: _answer(path, asked, models))


def serve(port: int, answer: Callable[[Sequence[str]], Answer]) -> ThreadingHTTPServer:
    """Answers on all interfaces, on threads of its own, until `.shutdown()`. `answer` gets the parts of the path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answered = answer([unquote(part) for part in urlsplit(self.path).path.split("/")[1:]])
            self.send_response(answered.status)
            self.send_header("Content-Type", answered.media_type)
            self.send_header("Content-Length", str(len(answered.body)))
            self.end_headers()
            self.wfile.write(answered.body)

        def log_message(self, format: str, *args: object) -> None:
            """A probe every few seconds is no news."""

    server = ThreadingHTTPServer(("", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server


def _answer(path: Sequence[str], asked: Asked, models: Callable[[], Sequence[Served]]) -> Answer:
    match path:
        case ["metrics"]:
            return Answer(200, asked.exposition(), CONTENT_TYPE_LATEST)
        case ["v2"]:
            return json_answer(200, {"name": SERVER, "version": _version(), "extensions": []})
        case ["v2", "health", "live"]:
            return json_answer(200 if asked.is_alive else 503, {"live": asked.is_alive})
        case ["v2", "health", "ready"]:
            ready = asked.state is not State.LEAVING
            return json_answer(200 if ready else 503, {"ready": ready, "state": asked.state.value})
        case ["v2", "models", name, *rest]:
            return _model(name, rest, asked, models())
        case _:
            return json_answer(404, {"error": "There is nothing here; GET /v2 tells what this is."})


def _model(name: str, rest: Sequence[str], asked: Asked, models: Sequence[Served]) -> Answer:
    found = [model for model in models if model.name == name]
    match rest:
        case ["versions", wanted, *rest]:
            found = [model for model in found if model.version == wanted]
        case _:
            pass
    if not found or rest not in ([], ["ready"]):
        return json_answer(404, {"error": "No such model is loaded here; a worker loads what its shards ask for."})
    if rest:
        ready = asked.state is not State.LEAVING
        return json_answer(200 if ready else 503, {"name": name, "ready": ready})
    model = found[-1]
    return json_answer(
        200,
        {
            "name": name,
            "versions": [one.version for one in found],
            "platform": model.platform,
            "inputs": [{"name": "pixels", "datatype": "UINT8", "shape": [model.batch, model.height, model.width, 3]}],
            "outputs": [{"name": "scores", "datatype": "FP32", "shape": [model.batch, len(model.columns)]}],
            "parameters": {"columns": list(model.columns)},
        },
    )


def json_answer(status: int, body: dict[str, Any]) -> Answer:
    return Answer(status, json.dumps(body).encode())


def _version() -> str:
    try:
        return version("tessera-wsi")
    except PackageNotFoundError:  # an image has the sources and no distribution
        return "unknown"
