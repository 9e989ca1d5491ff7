"""The processes of a stack, each behind proxies of its own, killed and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from local.environment import make_child_environ
from local.functions import Addresses
from local.processes import children
from local.stack import Stack
from local.workers import ROOT, make_worker_settings

#: Where webhooks go, port 8443; runs at the same time do not meet.
RECEIVER = f"127.83.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
STAGES = ("inspect", "plan", "heavy", "stitch", "notify")


@dataclass
class Part:
    """One process. `name` is its proxies' name too."""

    name: str
    command: list[str]
    environ: Mapping[str, str]
    log: Path
    root: Path
    child: subprocess.Popen[bytes] | None = None
    starts: int = 0
    #: When it may start again; a machine that is gone is not back at once.
    again: float = 0.0

    def start(self) -> None:
        self.child = children.start(self.command, env=self.environ, log=self.log, cwd=self.root)
        self.starts += 1

    @property
    def is_running(self) -> bool:
        return self.child is not None and self.child.poll() is None

    def signal(self, number: signal.Signals) -> None:
        if self.child is not None and self.child.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.child.pid, number)

    def stop(self) -> None:
        if self.child is not None:
            self.signal(signal.SIGCONT)
            children.stop(self.child, seconds=20)


@dataclass
class Parts:
    """All processes by name. `root`: the code that they run."""

    stack: Stack
    folder: Path
    root: Path = ROOT
    by_name: dict[str, Part] = field(default_factory=dict)

    @property
    def ready(self) -> Path:
        """The file that holds the API's URL while it is served."""
        return self.folder / "ready"

    def add_functions(
        self, name: str, at: Addresses, *, queues: tuple[str, ...] = (), schedules: bool = False, api: bool = False
    ) -> None:
        options = {
            one: getattr(self.stack.options, one) for one in ("shard_tiles", "schedule_seconds", "stuck_seconds")
        }
        given: dict[str, Any] = {
            "addresses": asdict(at),
            "options": options,
            "graphql_url": self.stack.graphql_url,
            "realtime_url": self.stack.realtime_url,
            "queues": queues,
            "schedules": schedules,
            "ready": str(self.ready) if api else None,
            "receiver": RECEIVER,
        }
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(given))
        self._add(name, [sys.executable, "-m", "tests.chaos.functions", str(path)], make_child_environ({}))

    def add_worker(self, name: str, at: Addresses) -> Path:
        """Return the folder of the worker's copies of slides."""
        scratch = self.folder / name / "scratch"
        scratch.mkdir(parents=True)
        values = {
            **self.stack.options.worker,
            "model_cache": str(self.folder / "models"),
            "scratch": str(scratch),
        }
        settings = make_worker_settings(at, values)
        self._add(name, [sys.executable, "-m", "gpu_worker"], make_child_environ(settings.make_environ()))
        return scratch

    def _add(self, name: str, command: list[str], environ: Mapping[str, str]) -> None:
        self.by_name[name] = Part(name, command, environ, self.folder / f"{name}.log", self.root)

    def keep_alive(self) -> list[str]:
        """Start what is not running, and return the names of what ended since the last call."""
        ended = [part for part in self.by_name.values() if not part.is_running and time.monotonic() >= part.again]
        for part in ended:
            if part.name == "api":
                self.ready.unlink(missing_ok=True)
            part.start()
        return [part.name for part in ended if part.starts > 1]

    def stop(self) -> None:
        for part in self.by_name.values():
            part.signal(signal.SIGCONT)
            part.signal(signal.SIGTERM)
        for part in self.by_name.values():
            part.stop()


def put_behind(at: Addresses, *, http: int, postgres: int) -> Addresses:
    """Return the addresses by way of a process's own proxies."""

    def by_way(dsn: str) -> str:
        before, _, after = dsn.rpartition(":")
        return f"{before}:{postgres}/{after.partition('/')[2]}"

    return replace(
        at, endpoint_url=f"http://127.0.0.1:{http}", api_dsn=by_way(at.api_dsn), system_dsn=by_way(at.system_dsn)
    )
