"""What the process of a model reaches: each probe is refused, and succeeds where the lock is taken away."""

from __future__ import annotations

import errno
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.models.confined import seccomp
from inference.models.confined.lock import can_lock
from inference.models.confined.process import make_environ
from tests.inference.models.confined.probes import PROBES

needs_landlock = pytest.mark.skipif(not can_lock(), reason="needs Linux with Landlock, on x86-64")
SECRET = "aws-secret-of-the-worker"
NAME = "AWS_SECRET_ACCESS_KEY"


@contextmanager
def answering(family: int, address: Any) -> Iterator[socket.socket]:
    """A server that says "ok" to everybody."""
    with socket.socket(family) as server:
        server.bind(address)
        server.listen()

        def serve() -> None:
            while True:
                try:
                    caller, _ = server.accept()
                except OSError:
                    return
                with caller:
                    caller.sendall(b"ok")

        threading.Thread(target=serve, daemon=True).start()
        yield server
        server.shutdown(socket.SHUT_RDWR)


def probed(tmp_path: Path, *, locked: bool) -> dict[str, str]:
    package = tmp_path / "package"
    package.mkdir()
    (package / "config.json").write_text('{"its": "own"}')
    (package / "extra").write_text("")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "token").write_text(SECRET)
    environ = {**os.environ, NAME: SECRET}
    ours, theirs = os.pipe()
    with ExitStack() as stack:
        other = stack.enter_context(subprocess.Popen(["sleep", "600"], env=environ))
        stack.callback(other.kill)
        database = stack.enter_context(answering(socket.AF_UNIX, str(tmp_path / "postgres")))
        metadata = stack.enter_context(answering(socket.AF_INET, ("127.0.0.1", 0)))
        facts = {
            "locked": locked,
            "name": NAME,
            "secret": SECRET,
            "other": other.pid,
            "database": database.getsockname(),
            "metadata": metadata.getsockname()[1],
            "file": str(elsewhere / "token"),
            "package": str(package),
        }
        command = [sys.executable, "-m", "tests.inference.models.confined.probes", json.dumps(facts), str(theirs)]
        subprocess.run(
            command, env=make_environ(environ) if locked else environ, pass_fds=(theirs,), check=True, timeout=300
        )
        os.close(theirs)
        with os.fdopen(ours) as answers:
            return json.loads(answers.read())


@needs_landlock
def test_a_models_process_reaches_nothing_but_its_package(tmp_path):
    found = probed(tmp_path, locked=True)
    assert {name for name in PROBES if found[name] == "reached"} == set()
    assert found["package"] == '{"its": "own"}'
    assert found["computed"] == "512"


@needs_landlock
def test_each_probe_succeeds_where_the_lock_is_taken_away(tmp_path):
    found = probed(tmp_path, locked=False)
    assert {name for name in PROBES if found[name] != "reached"} == set()


def test_the_environment_of_a_models_process_names_its_device_alone():
    ours = {NAME: SECRET, "TESSERA_DATABASE_DSN": "postgresql://", "CUDA_VISIBLE_DEVICES": "1", "HOME": "/root"}
    made = make_environ(ours)
    assert set(made) == {"CUDA_VISIBLE_DEVICES", "PATH", "PYTHONPATH", "OPENBLAS_NUM_THREADS"}
    assert SECRET not in str(made)
    assert made["PATH"] == ""


ARCHITECTURE, PROCESS = 0xC000003E, 4711
ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS


def judged(number: int, first: int = 0, architecture: int = ARCHITECTURE) -> int:
    """What the filter answers to a call: its instructions, run as the kernel runs them."""
    code = seccomp.make_filter(PROCESS)
    data = struct.pack("=IIQ6Q", number, architecture, 0, first, 0, 0, 0, 0, 0)
    accumulator, at = 0, 0
    while True:
        step, when, otherwise, value = struct.unpack_from("=HBBI", code, at * 8)
        at += 1
        if step == 0x06:
            return value
        if step == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
            continue
        passes = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[step]
        at += when if passes else otherwise


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
def test_a_call_that_is_not_listed_is_refused_whatever_its_arguments(number, first):
    argued = {56, 234, 302, 435}
    if number not in {*seccomp.ALLOWED.values(), *argued}:
        assert judged(number, first) == EPERM


def test_listed_calls_pass_and_those_of_another_architecture_do_not():
    assert {judged(number) for number in seccomp.ALLOWED.values()} == {ALLOW}
    assert {judged(number, architecture=0x40000003) for number in range(500)} == {EPERM}
    assert {judged(0x40000000 | number) for number in range(600)} == {EPERM}


def test_threads_start_and_processes_do_not():
    thread, process = 0x3D0F00, 0x1200011  # what glibc passes for each
    assert judged(56, thread) == ALLOW
    assert judged(56, process) == EPERM
    assert judged(435) == ENOSYS  # clone3: its flags lie in memory, and glibc falls back to clone


def test_a_process_signals_and_limits_itself_alone():
    assert judged(234, PROCESS) == ALLOW
    assert judged(234, PROCESS + 1) == EPERM
    assert judged(302, 0) == ALLOW
    assert judged(302, PROCESS + 1) == EPERM


@pytest.mark.parametrize(
    ("name", "number"),
    [("socket", 41), ("connect", 42), ("execve", 59), ("fork", 57), ("vfork", 58), ("kill", 62), ("ptrace", 101),
     ("process_vm_readv", 310), ("io_uring_setup", 425), ("bpf", 321), ("unshare", 272), ("mount", 165),
     ("open_by_handle_at", 304), ("pidfd_getfd", 438), ("userfaultfd", 323), ("execveat", 322), ("seccomp", 317)],
)  # fmt: skip
def test_ways_out_are_not_listed(name, number):
    assert name not in seccomp.ALLOWED
    assert judged(number) == EPERM
