"""The suite cannot leave this machine: what a test tries beyond the loopback is refused, and fails the test."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.offline.children.sitecustomize import LOG, is_loopback
from tests.offline.namespace import ENTERED
from tests.offline.watching import CHILDREN

ROOT = Path(__file__).parents[2]
#: An address that nobody has (RFC 5737): were it reached, nothing would answer.
NOBODY = "203.0.113.7"
REACHING = f"""
import socket
with socket.socket() as reaching:
    reaching.settimeout(0.2)
    try:
        reaching.connect(("{NOBODY}", 443))
    except OSError:
        pass
"""
SUITE = f"""
import subprocess, sys
def test_swallows(): exec({REACHING!r})
def test_looks_up():
    import socket
    try: socket.getaddrinfo("tessera.example", 443)
    except OSError: pass
def test_stays():
    import socket
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
"""


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "", None, "0.0.0.0", b"127.0.0.1"])
def test_the_loopback_is_this_machine(host: object) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", [NOBODY, "10.0.0.1", "169.254.169.254", "example.org", "::ffff:8.8.8.8", "fe80::1%lo"])
def test_anything_else_is_not(host: object) -> None:
    assert not is_loopback(host)


def test_a_test_that_swallows_the_refusal_fails_nonetheless(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    environ = {name: value for name, value in os.environ.items() if name != LOG}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.offline.watching", "-p", "no:cacheprovider", "-q", str(tmp_path)],
        cwd=tmp_path,
        env={**environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" not in done.stderr
    assert "3 passed, 2 errors" in done.stdout, done.stdout
    assert f"socket.connect '{NOBODY}'" in done.stdout
    assert "socket.getaddrinfo 'tessera.example'" in done.stdout


def test_a_child_that_swallows_the_refusal_is_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    environ = {**os.environ, "PYTHONPATH": str(CHILDREN), LOG: str(log)}
    subprocess.run([sys.executable, "-c", REACHING], env=environ, check=True)
    assert log.read_text() == f"socket.connect '{NOBODY}'\n"


@pytest.mark.skipif(ENTERED not in os.environ, reason="This kernel lets nobody make a network namespace.")
def test_programs_that_are_not_of_python_have_no_way_out_either() -> None:
    interfaces = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines() if ":" in line]
    assert interfaces == ["lo"]
    routes = Path("/proc/net/route").read_text().splitlines()[1:]
    assert routes == []
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
