"""Child processes of the stack: started in a session of their own, stopped by pid, SIGTERM first."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


def start(command: Sequence[str], *, env: Mapping[str, str], log: Path, cwd: Path) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own. Its stdout and stderr go to `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def stop(child: subprocess.Popen[bytes], *, seconds: float) -> None:
    """Stop the child by SIGTERM, and by SIGKILL after `seconds`; then kill all that it started. Idempotent."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            _signal_group(child.pid, signal.SIGKILL)
            child.wait()
    _signal_group(child.pid, signal.SIGKILL)


def kill(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and all that it started by SIGKILL, as if their machine were lost."""
    _signal_group(child.pid, signal.SIGKILL)
    child.wait()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def stop_pid(pid: int, *, seconds: float) -> bool:
    """Stop a process that somebody else started by SIGTERM, and by SIGKILL after `seconds`. Return whether it ended by
    itself."""
    if not is_alive(pid):
        return True
    os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not is_alive(pid):
            return True
        time.sleep(0.05)
    _signal_group(pid, signal.SIGKILL)
    return False


def _signal_group(leader: int, number: signal.Signals) -> None:
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False
