"""Workers of the stack: child processes, started, stopped and killed one by one."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from adapters.settings import processes
from local import children
from local.environment import child_environ
from local.functions import Addresses
from local.options import MODELS, QUEUE_PREFIX, RESULTS, SHARED, SLIDES

DRAIN_SECONDS = 90.0  #: DESIGN section 6: what a worker may take to leave
ROOT = Path(__file__).resolve().parent.parent


class Workers:
    """`overrides`: fields of settings.processes.Worker that differ from the stack's own."""

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
        """By worker number."""
        return {number: child.pid for number, child in self._running.items()}

    def log(self, number: int) -> Path:
        return self._folder / "logs" / f"worker-{number}.log"

    def start(self, **overrides: Any) -> int:
        """Starts one more and returns its number."""
        number = next(self._numbers)
        own = self._folder / "workers" / str(number)
        scratch = own / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        values: dict[str, Any] = {
            **self._at.common(self._at.system_dsn),
            "slides_bucket": SLIDES,
            "results_bucket": RESULTS,
            "models_bucket": MODELS,
            "allowed_buckets": SHARED,
            "queue_prefix": QUEUE_PREFIX,
            "idle_seconds": 0,
            "model_cache": str(self._folder / "models"),
            "scratch": str(scratch),
            **self._overrides,
            **overrides,
        }
        self._running[number] = children.start(
            [sys.executable, "-m", "gpu_worker"],
            env=child_environ(processes.Worker(**values).environ()),
            log=self.log(number),
            cwd=ROOT,
        )
        self._on_change()
        return number

    def stop(self, number: int) -> int:
        """SIGTERM: it drains. Returns its exit code."""
        child = self._running.pop(number)
        children.stop(child, seconds=DRAIN_SECONDS)
        self._on_change()
        return child.returncode

    def kill(self, number: int) -> None:
        """SIGKILL, as a lost machine."""
        children.kill(self._running.pop(number))
        self._on_change()

    def wait(self, number: int, *, seconds: float) -> int:
        """The exit code of one that ends by itself. Raises subprocess.TimeoutExpired."""
        code = self._running[number].wait(seconds)
        del self._running[number]
        self._on_change()
        return code

    def replace_lost(self) -> Mapping[int, int]:
        """A new worker for each that ended without being told to, as an Auto Scaling Group would start one. Returns
        their exit codes by number."""
        codes = {number: child.poll() for number, child in self._running.items()}
        lost = {number: code for number, code in codes.items() if code is not None}
        for number in lost:
            del self._running[number]
            self.start()
        return lost

    def stop_all(self) -> None:
        """All at once, so that they drain side by side."""
        for child in self._running.values():
            if child.poll() is None:
                child.terminate()
        for number in list(self._running):
            self.stop(number)
