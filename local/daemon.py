"""A stack that keeps running after the command that started it."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from local.options import StackOptions
from local.postgres import EmbeddedPostgres
from local.processes import children
from local.processes.leftovers import stop_leftovers
from local.processes.stack_file import StackFile, hold_lock

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".tessera"
START_SECONDS = 120.0
STOP_SECONDS = 120.0  #: a worker may take 90 to drain

LOOK_SECONDS = 2.0  #: between two checks of the servers and workers
log = logging.getLogger(__name__)

#: Children that this process started, kept because they may outlive their Popen; `_reap` drops those that ended.
_started: list[subprocess.Popen[bytes]] = []


def serve(folder: Path, options: StackOptions) -> None:
    """Run a stack in this process until SIGTERM or SIGINT, and replace workers that die. Raises RuntimeError when
    Postgres or the emulator ends, so that the next `up` starts a new stack."""
    from local.stack import Stack  # the rest of this module answers without loading every function and server

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    asked_to_stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked_to_stop.set())
    stack = Stack(folder, options)
    stack.start()
    try:
        while not asked_to_stop.wait(LOOK_SECONDS):
            for number, code in stack.workers.replace_lost().items():
                log.warning("Worker %d ended with code %d; another one takes its place.", number, code)
            if lost := stack.find_lost_server():
                raise RuntimeError(f"{lost} ended by itself, so the stack stops; start it again with `up`.")
    finally:
        stack.stop()


def start_stack(folder: Path, options: StackOptions) -> tuple[dict[str, Any], bool]:
    """Start a stack unless one runs; return stack.json and whether this call started it. If interrupted, stop what was
    started. Raises RuntimeError that says where the log is."""
    with hold_lock(_changing(folder)):
        return _start_stack(folder, options)


def stop_stack(folder: Path) -> bool:
    """Stop the stack, and return whether one was running. Processes that do not end by themselves are killed, by the
    pids that stack.json names."""
    if not folder.exists():
        return False
    with hold_lock(_changing(folder)):
        return _stop_stack(folder)


def is_started_here(folder: Path) -> bool:
    """Return whether this process started the stack that runs in the folder."""
    running = StackFile(folder).read()
    return running is not None and running["pid"] in {child.pid for child in _started}


def _changing(folder: Path) -> Path:
    """Return the path of the lock for starting and stopping the stack: a process that comes meanwhile waits, and then
    finds it up or down."""
    return folder / "changing"


def _start_stack(folder: Path, options: StackOptions) -> tuple[dict[str, Any], bool]:
    file = StackFile(folder)
    if _is_running(file):
        return _wait_until_ready(file, None), False
    left = file.read()
    if left:
        stop_leftovers(left)
        file.path.unlink()
    log = folder / "logs" / "stack.log"
    command = [sys.executable, "-m", "local", "serve", "--folder", str(folder), "--workers", str(options.workers)]
    command += [word for origin in options.page_origins for word in ("--page-origin", origin)]
    child = children.start(command, env=dict(os.environ), log=log, cwd=ROOT)
    _started.append(child)
    try:
        return _wait_until_ready(file, child.poll), True
    except BaseException as error:  # Ctrl-C and SIGTERM too: no stack is left behind that nobody waits for
        children.stop(child, seconds=STOP_SECONDS)
        if isinstance(error, RuntimeError):
            raise RuntimeError(f"{error} {_last_words(log)} Its log: {log}") from None
        raise


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line.removeprefix("tessera: ") for line in reversed(lines) if line.strip()), "")


def _stop_stack(folder: Path) -> bool:
    _reap()
    file = StackFile(folder)
    running = file.read()
    if running is None:
        return False
    was_running = _is_running(file)
    if was_running:
        children.stop_pid(running["pid"], seconds=STOP_SECONDS)
    if file.path.exists():  # killed, now or before: it could not clean up
        stop_leftovers(running)
        EmbeddedPostgres(folder.absolute() / "postgres", durable=True).stop()
        file.path.unlink()
    _reap()
    return was_running


def _reap() -> None:
    _started[:] = [child for child in _started if child.poll() is None]


def _is_running(file: StackFile) -> bool:
    """Return whether a stack runs. A killed process may hold its lock for a moment after it is gone, until its last
    thread is."""
    while file.is_taken():
        stack = file.read()
        if stack is None or children.is_alive(stack["pid"]):
            return True
        time.sleep(0.01)
    return False


def _wait_until_ready(file: StackFile, ended: Any) -> dict[str, Any]:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        ready = file.read()
        if ready is not None:
            return ready
        if ended is not None and ended() is not None:
            raise RuntimeError("The stack did not start.")
        time.sleep(0.05)
    raise RuntimeError(f"The stack was not ready within {START_SECONDS:.0f} s.")
