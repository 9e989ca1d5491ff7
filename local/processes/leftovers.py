"""Child processes that a stack left behind when its own process was killed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.processes import children

_OURS = ("ministack_launcher.py", "gpu_worker")  #: in the command line: a pid may belong to somebody else by now
SECONDS = 10.0


def stop_leftovers(stack_json: Mapping[str, Any]) -> int:
    """End the children in `stack_json` that still run, and return how many. Postgres is not one of them: the next start
    takes it over."""
    pids = [stack_json.get("ministack_pid"), *stack_json.get("worker_pids", ())]
    left = [pid for pid in pids if pid and children.is_alive(pid) and _is_ours(pid)]
    for pid in left:
        children.stop_pid(pid, seconds=SECONDS)
    return len(left)


def _is_ours(pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return False
    return any(mark in command for mark in _OURS)
