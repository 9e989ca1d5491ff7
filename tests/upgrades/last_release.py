"""Processes of the last release, started from a worktree of its commit over a stack of today."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from adapters.settings.problems import BASE_PATH
from local.environment import make_child_environ
from local.processes import children
from local.stack import Stack
from tests.stack.lab import eventually
from tools.release_fixtures.checkout import make_command

RUN_FUNCTIONS = Path(__file__).with_name("run_functions.py")


@dataclass(frozen=True)
class ReleasedFunctions:
    """The running functions of a release: all that queues and schedules wake, and an API of their own."""

    api_url: str
    log: Path

    def count_messages(self) -> int:
        """The messages of queues that they have handled."""
        return sum(line.get("message") == "done" for line in read_log(self.log))

    def list_services(self) -> set[str]:
        """The functions that have handled a message of their queue."""
        return {line["service"] for line in read_log(self.log) if line.get("message") == "done"}


@contextmanager
def run_functions(worktree: Path, stack: Stack, folder: Path) -> Iterator[ReleasedFunctions]:
    given, ready, log = folder / "given.json", folder / "ready", folder / "functions.log"
    options = {name: getattr(stack.options, name) for name in ("shard_tiles", "schedule_seconds", "stuck_seconds")}
    urls = {"graphql_url": stack.graphql_url, "realtime_url": stack.realtime_url}
    value = {"addresses": asdict(stack.addresses), "options": options, **urls, "ready": str(ready)}
    given.write_text(json.dumps(value))
    command, environment = make_command(worktree, RUN_FUNCTIONS, str(given))
    child = children.start(
        command, env=make_child_environ({"PYTHONPATH": environment["PYTHONPATH"]}), log=log, cwd=worktree
    )
    try:
        eventually(lambda: ready.exists() or _complain(child, log), seconds=60, what="the functions' start")
        yield ReleasedFunctions(f"{ready.read_text()}{BASE_PATH}", log)
    finally:
        children.stop(child, seconds=30)


def _complain(child: subprocess.Popen[bytes], log: Path) -> bool:
    assert child.poll() is None, f"The release's functions ended:\n{log.read_text()[-2000:]}"
    return False


def read_log(log: Path) -> list[dict[str, Any]]:
    """The lines of JSON of a process's log."""
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def list_complaints(log: Path) -> list[str]:
    """Warnings, errors and tracebacks of a log, but for what a drain is to say."""
    tracebacks = [line for line in log.read_text().splitlines() if line.startswith("Traceback")]
    return find_complaints(read_log(log)) + tracebacks


def find_complaints(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    committed = {_name_attempt(line) for line in lines if line.get("message") == "shard committed"}
    return [
        str(line)
        for line in lines
        if line.get("level") in ("WARNING", "ERROR", "CRITICAL")
        and line.get("reason") != "the worker is leaving"
        # A heartbeat between the commit and the end of the lease finds it gone: nothing was lost.
        and not (line.get("message") == "lease lost" and _name_attempt(line) in committed)
    ]


def _name_attempt(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return line.get("job"), line.get("shard"), line.get("attempt")
