"""`up` and `down`: started once, found again, ended by pid, and cleaned up after a process that was killed."""

from __future__ import annotations

import os
import signal
import time

import httpx
import pytest

from local import children, daemon
from local.ministack import PYTHON
from local.options import StackOptions
from local.postgres import EmbeddedPostgres

pytestmark = [
    pytest.mark.stack,
    pytest.mark.skipif(not PYTHON.exists(), reason="MiniStack is not installed here; `make setup` installs it."),
]

OPTIONS = StackOptions(workers=1)


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    daemon.down(tmp_path)
    EmbeddedPostgres(tmp_path / "postgres", durable=True).remove()  # as root its data lie elsewhere


def pids_of(stack):
    return [stack["pid"], stack["ministack_pid"], *stack["worker_pids"]]


def gone(pids):
    """A killed process that nobody has waited for yet is a zombie for a moment."""
    end = time.monotonic() + 5
    while any(map(children.is_alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(children.is_alive, pids))


def test_from_up_to_down_and_after_a_kill(folder):
    first, is_new = daemon.up(folder, OPTIONS)
    assert is_new
    again, is_new = daemon.up(folder, OPTIONS)
    assert not is_new
    assert again["pid"] == first["pid"]
    os.kill(first["pid"], signal.SIGKILL)
    assert gone([first["pid"]])
    second, is_new = daemon.up(folder, OPTIONS)
    assert is_new
    assert gone(pids_of(first))
    assert second["api_key"] == first["api_key"]
    assert httpx.get(f"{second['api_url']}/health").status_code == 200
    assert daemon.down(folder)
    assert gone(pids_of(second))
    assert not daemon.down(folder)


def test_a_stack_that_can_not_start_says_where_its_log_is(folder):
    (folder / "ministack").write_text("a file where the emulator wants a folder")
    with pytest.raises(RuntimeError, match=r"logs/stack\.log"):
        daemon.up(folder, OPTIONS)
