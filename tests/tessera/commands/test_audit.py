"""`tessera admin audit` against the real handlers of the API."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from typer.testing import CliRunner, Result

from lambdas import api
from lambdas.wiring import ApiWiring
from tessera.cli import app
from tests.installation import ADMIN, SCALING, Installation
from tests.lambdas.rest import rest_event


@pytest.fixture
def installation() -> Installation:
    made = Installation()
    for number in range(5):
        made.ledger.audit(ADMIN, "slide.view", f"slide-{number}", {"mpp": 0.25, "tier": "ä"})
    return made


@pytest.fixture
def url(installation: Installation) -> Iterator[str]:
    handle = api.make_handler(
        ApiWiring(
            ledger=installation.ledger,
            slides=installation.slides,
            packages=installation.packages,
            objects=installation.objects,
            queues=installation.queues,
            dollars_per_gpu_hour=1.0,
            scaling=SCALING,
        )
    )

    class Gateway(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            answer = handle(rest_event("GET", parts.path, query=dict(parse_qsl(parts.query)), actor=ADMIN), None)
            body = answer["body"].encode()
            self.send_response(answer["statusCode"])
            self.send_header("Content-Type", answer["multiValueHeaders"]["Content-Type"][0])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def run(*arguments: str, url: str | None = None) -> Result:
    options = ["--api", url, "--api-key", "tsk_a_b"] if url is not None else []
    return CliRunner().invoke(app, ["admin", "audit", *arguments, *options])


def test_a_whole_log_is_verified_by_the_api_and_its_head_is_printed(url: str, installation: Installation) -> None:
    result = run("verify", url=url)
    assert result.exit_code == 0, result.output
    first, head, _ = result.stdout.splitlines()
    assert first == "5 lines, none of them changed"
    again = run("verify", *head.split(), url=url)
    assert again.exit_code == 0, again.output
    installation.ledger.books.audit[:] = installation.ledger.books.audit[:3]
    cut = run("verify", *head.split(), url=url)
    assert cut.exit_code == 4
    assert "Line 5 was there once, and the log ends at line" in cut.stderr


def test_an_export_is_verified_without_the_installation(url: str, tmp_path: Path) -> None:
    path = tmp_path / "audit.csv"
    path.write_text(run("list", "--csv", url=url).stdout)
    assert run("verify", str(path)).exit_code == 0
    path.write_text(path.read_text().replace("slide-2", "slide-9"))
    result = run("verify", str(path))
    assert (result.exit_code, result.stderr) == (4, "tessera: Line 3 or the line before it was changed.\n")


def test_heads_of_the_sweeps_log_are_compared(url: str, installation: Installation, tmp_path: Path) -> None:
    (kept,) = installation.ledger.keep_audit(anchor_seconds=3600)
    heads = tmp_path / "heads.jsonl"
    row = {"message": "audit head", "chain": str(kept.chain), "number": kept.number}
    heads.write_text(json.dumps({**row, "hash": kept.hash}) + "\n")
    assert run("verify", "--heads", str(heads), url=url).exit_code == 0
    heads.write_text(json.dumps({**row, "hash": "0" * 64}) + "\n")
    result = run("verify", "--heads", str(heads), url=url)
    assert (result.exit_code, result.stderr) == (4, "tessera: Line 5 had another hash when its head was kept.\n")


def test_a_part_of_a_log_says_where_it_begins(url: str, tmp_path: Path) -> None:
    path = tmp_path / "audit.csv"
    path.write_text(run("list", "--csv", "--limit", "3", url=url).stdout)
    result = run("verify", str(path))
    assert result.exit_code == 0
    assert "begins at line 3" in result.stderr


def test_lines_are_listed_and_filtered(url: str) -> None:
    listed = run("list", "--subject", "slide-1", "--from", "2026-01-01", url=url)
    assert listed.exit_code == 0, listed.output
    assert "slide-1" in listed.stdout
    assert "slide-2" not in listed.stdout


@pytest.mark.parametrize("arguments", [("verify",), ("verify", "--head", "5")])
def test_what_is_left_out_or_wrong_is_said(url: str, arguments: tuple[str, ...]) -> None:
    result = run(*arguments, url=url if len(arguments) > 1 else None)
    assert result.exit_code != 0
    assert "give a file" in str(result.exception) or "is no head" in str(result.exception)
