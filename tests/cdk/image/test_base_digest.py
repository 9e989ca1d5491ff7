"""The base of the worker's image, named with the digest that a registry tells."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cdk.deployment import Deployment, WrongDeployment
from tools.base_digest import NoDigest, find_digest, read_base

DIGEST = "sha256:" + "0f" * 32
NAME = "docker/library/python"


class Registry(BaseHTTPRequestHandler):
    """Anonymous tokens, and the digest of one tag for those who show one."""

    def do_GET(self) -> None:
        found = self.path == f"/token/?scope=repository:{NAME}:pull"
        self._answer(200 if found else 404, json.dumps({"token": "anonymous"}).encode())

    def do_HEAD(self) -> None:
        if self.headers["Authorization"] != "Bearer anonymous":
            self._answer(401)
        elif self.path == f"/v2/{NAME}/manifests/3.11":
            self._answer(200, digest=DIGEST)
        else:
            self._answer(200 if self.path.endswith("/manifests/silent") else 404)

    def _answer(self, status: int, body: bytes = b"", *, digest: str | None = None) -> None:
        self.send_response(status)
        if digest:
            self.send_header("Docker-Content-Digest", digest)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_tag_gets_the_digest_that_the_registry_tells(registry: str) -> None:
    assert find_digest(f"public.ecr.aws/{NAME}:3.11", registry_url=registry) == DIGEST


@pytest.mark.parametrize("tag", ["3.10", "silent"])
def test_a_tag_without_a_digest_is_an_error(registry: str, tag: str) -> None:
    with pytest.raises(NoDigest, match=f"python:{tag}"):
        find_digest(f"public.ecr.aws/{NAME}:{tag}", registry_url=registry)


def test_a_base_is_accepted_with_its_digest_alone() -> None:
    base = read_base()
    assert Deployment.from_context({"worker_base": f"{base}@{DIGEST}"}).worker_base == f"{base}@{DIGEST}"
    for wrong in (base, f"{base}@sha256:0f", f"{base}@{DIGEST}0", DIGEST):
        with pytest.raises(WrongDeployment, match="worker_base must be an image with its digest"):
            Deployment.from_context({"worker_base": wrong})
