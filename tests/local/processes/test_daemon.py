"""`up` and `down`: started once, found again, ended by pid, and cleaned up after a process that was killed."""

from __future__ import annotations

import io
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
from rich.console import Console

from local import daemon, sample_slide
from local.demo import run_demo
from local.options import StackOptions
from local.postgres import EmbeddedPostgres
from local.processes import children
from local.processes.stack_file import StackFile
from tessera.api.rest import Api
from tessera.api.submission import wait_until_inspected
from tessera.api.transport import Transport
from tessera.api.upload import upload
from tests.prerequisites import EMULATOR, NODE
from tests.shared_slides import shared_slide
from wsi.slide.ranges import FileSource
from wsi.states import JobState

pytestmark = [
    pytest.mark.stack,
    EMULATOR.mark,
    NODE.mark,
]

OPTIONS = StackOptions(workers=1)
SLIDE = "real/aperio-jpeg-20x.CMU-1-Small-Region.svs"  #: the demo's own


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    daemon.stop_stack(tmp_path)
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
    first, is_new = daemon.start_stack(folder, OPTIONS)
    assert is_new
    again, is_new = daemon.start_stack(folder, OPTIONS)
    assert not is_new
    assert again["pid"] == first["pid"]
    os.kill(first["pid"], signal.SIGKILL)
    assert gone([first["pid"]])
    second, is_new = daemon.start_stack(folder, OPTIONS)
    assert is_new
    assert gone(pids_of(first))
    assert second["api_key"] == first["api_key"]
    assert httpx.get(f"{second['api_url']}/health").status_code == 200
    assert daemon.stop_stack(folder)
    assert gone(pids_of(second))
    assert not daemon.stop_stack(folder)


def test_two_that_start_at_once_get_one_stack(folder):
    with ThreadPoolExecutor(2) as both:
        found = list(both.map(lambda _: daemon.start_stack(folder, OPTIONS), range(2)))
    assert sorted(is_new for _, is_new in found) == [False, True]
    assert found[0][0]["pid"] == found[1][0]["pid"]


@pytest.mark.parametrize(
    ("number", "mark"),
    [(signal.SIGTERM, "changing"), (signal.SIGTERM, "stack.json"), (signal.SIGHUP, "stack.json")],
    ids=["while it starts", "while it runs", "when its terminal closes"],
)
def test_a_demo_that_is_told_to_leave_stops_what_it_started(folder, number, mark):
    (folder / "cache").mkdir()
    shutil.copy(shared_slide(SLIDE), folder / "cache" / sample_slide.NAME)
    command = [sys.executable, "-m", "local", "demo", "--folder", str(folder)]
    demo = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=daemon.ROOT)
    end = time.monotonic() + 60
    while not (folder / mark).exists() and time.monotonic() < end:
        time.sleep(0.05)
    demo.send_signal(number)
    assert demo.wait(60) not in (0, None)
    assert not StackFile(folder).is_taken()
    assert not (folder / "stack.json").exists()


class ClosedAfterOneLine(io.StringIO):
    """What `make demo | head -1` prints into."""

    def write(self, text):
        if "\n" in self.getvalue():
            raise BrokenPipeError
        return super().write(text)


@pytest.mark.parametrize("runs_before", [False, True])
def test_a_demo_that_fails_as_soon_as_the_stack_runs_stops_what_it_started(folder, runs_before):
    (folder / "cache").mkdir()
    shutil.copy(shared_slide(SLIDE), folder / "cache" / sample_slide.NAME)
    if runs_before:
        subprocess.run([sys.executable, "-m", "local", "up", "--folder", str(folder)], cwd=daemon.ROOT, check=True)
    with pytest.raises((BrokenPipeError, SystemExit)):  # rich makes the one of the other
        run_demo(folder, Console(file=ClosedAfterOneLine()))
    assert StackFile(folder).is_taken() is runs_before


def eventually(what, seconds=30):
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.1)
    return found


def test_a_dead_worker_is_replaced_and_a_dead_server_ends_the_stack(folder):
    stack, _ = daemon.start_stack(folder, OPTIONS)
    (worker,) = stack["worker_pids"]
    os.kill(worker, signal.SIGKILL)
    assert eventually(lambda: (StackFile(folder).read() or {})["worker_pids"] not in ([worker], []))
    os.kill(stack["ministack_pid"], signal.SIGKILL)
    assert eventually(lambda: gone([stack["pid"]]))
    assert not (folder / "stack.json").exists()
    assert "MiniStack ended by itself" in (folder / "logs" / "stack.log").read_text()
    again, is_new = daemon.start_stack(folder, OPTIONS)
    assert is_new
    assert httpx.get(f"{again['api_url']}/health").status_code == 200


@contextmanager
def api_of(stack):
    transport = Transport(stack["api_url"], stack["api_key"])
    yield Api(transport)
    transport.close()


def test_a_job_goes_on_at_once_in_the_next_stack(folder):
    slide = shared_slide(SLIDE)
    with api_of(daemon.start_stack(folder, StackOptions(workers=0))[0]) as api:
        slide_id = upload(api, [(slide.name, FileSource(slide))])
        wait_until_inspected(api, slide_id)
        job_id = api.submit_job(slide_id, "stain-density", idempotency_key="1").job_id
        assert eventually(lambda: api.get_job(job_id).status == JobState.RUNNING)
    assert daemon.stop_stack(folder)
    with api_of(daemon.start_stack(folder, OPTIONS)[0]) as api:
        assert eventually(lambda: api.get_job(job_id).status == JobState.COMPLETED)


def test_what_the_emulator_keeps_is_for_this_user_alone(folder):
    daemon.start_stack(folder, StackOptions(workers=0))
    assert stat.S_IMODE((folder / "ministack").stat().st_mode) == 0o700


def test_a_stack_that_can_not_start_says_where_its_log_is(folder):
    (folder / "ministack").write_text("a file where the emulator wants a folder")
    with pytest.raises(RuntimeError, match=r"logs/stack\.log"):
        daemon.start_stack(folder, OPTIONS)


def test_a_stack_that_can_not_start_says_why(folder, monkeypatch):
    monkeypatch.setenv("PATH", str(folder))  # no Node there
    with pytest.raises(RuntimeError, match=r"Node is not installed.*stack\.log"):
        daemon.start_stack(folder, OPTIONS)
    assert not daemon.stop_stack(folder)
