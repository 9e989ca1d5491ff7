"""Workers of the stack: child processes, started, stopped and killed one by one."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from adapters.settings import processes
from inference.models.confined.lock import can_lock
from local.environment import make_child_environ
from local.functions import Addresses
from local.options import QUEUE_PREFIX, SHARED
from local.processes import children

DRAIN_SECONDS = 90.0  #: DESIGN section 6: what a worker may take to leave
ROOT = Path(__file__).resolve().parent.parent


def make_worker_settings(at: Addresses, values: Mapping[str, Any]) -> processes.WorkerSettings:
    """Return a worker's settings for the stack, with `values` over the stack's own."""
    own: dict[str, Any] = {
        **at.make_common_settings(at.system_dsn),
        "slides_bucket": at.buckets.slides,
        "results_bucket": at.buckets.results,
        "models_bucket": at.buckets.models,
        "allowed_buckets": SHARED,
        "queue_prefix": QUEUE_PREFIX,
        "idle_seconds": 0,
        "lock_models": can_lock(),
    }
    return processes.WorkerSettings(**{**own, **values})


class Workers:
    """The running workers. `overrides`: fields of WorkerSettings that differ from the stack's own."""

    def __init__(
        self, at: Addresses, folder: Path, overrides: Mapping[str, Any], *, on_change: Callable[[], None]
    ) -> None:
        self._at = at
        self._folder = folder
        self._overrides = dict(overrides)
        self._on_change = on_change
        self._numbers = itertools.count(1)
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def pids(self) -> dict[int, int]:
        """Process ids by worker number."""
        return {number: child.pid for number, child in self._running.items()}

    def get_log_path(self, number: int) -> Path:
        return self._folder / "logs" / f"worker-{number}.log"

    def start(self, root: Path = ROOT, **overrides: Any) -> int:
        """Start one more worker, and return its number. `root`: the files of the release that it is of."""
        number = next(self._numbers)
        own = self._folder / "workers" / str(number)
        scratch = own / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        folders = {
            "model_cache": str(self._folder / "models"),
            "scratch": str(scratch),
            "traces": str(self._folder / "traces" / f"worker-{number}.jsonl"),
        }
        settings = make_worker_settings(self._at, {**folders, **self._overrides, **overrides})
        self._running[number] = children.start(
            [sys.executable, "-m", "gpu_worker"],
            env=make_child_environ(settings.make_environ()),
            log=self.get_log_path(number),
            cwd=root,
        )
        self._on_change()
        return number

    def stop(self, number: int) -> int:
        """Drain a worker by SIGTERM, and return its exit code."""
        child = self._running.pop(number)
        children.stop(child, seconds=DRAIN_SECONDS)
        self._on_change()
        return child.returncode

    def kill(self, number: int) -> None:
        """Kill a worker by SIGKILL, as if its machine were lost."""
        children.kill(self._running.pop(number))
        self._on_change()

    def wait(self, number: int, *, seconds: float) -> int:
        """Wait for a worker that ends by itself, and return its exit code. Raises subprocess.TimeoutExpired."""
        code = self._running[number].wait(seconds)
        del self._running[number]
        self._on_change()
        return code

    def replace_lost(self) -> Mapping[int, int]:
        """Start a new worker for each that ended by itself, as an Auto Scaling Group would. Return the exit codes of
        the ended ones by number."""
        codes = {number: child.poll() for number, child in self._running.items()}
        lost = {number: code for number, code in codes.items() if code is not None}
        for number in lost:
            del self._running[number]
            self.start()
        return lost

    def stop_all(self) -> None:
        """Stop all workers at once, so that they drain in parallel."""
        for child in self._running.values():
            if child.poll() is None:
                child.terminate()
        for number in list(self._running):
            self.stop(number)
