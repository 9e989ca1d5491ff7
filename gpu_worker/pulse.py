"""Whether the work goes on, and where it stands when it does not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Pulse:
    """Beats are written by the threads that work and read by any other."""

    def __init__(self, stuck_seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`stuck_seconds`: no honest step takes so long."""
        self.stuck_seconds = stuck_seconds
        self._clock = clock
        self._last = clock()
        self._stages: dict[str, float] = {}
        self._lock = threading.Lock()

    def beat(self, stage: str | None = None) -> None:
        """A step of the work is done, in `stage` of those that `working` began: to be called for each item that a
        stage takes and each that it hands on."""
        now = self._clock()
        self._last = now
        if stage is not None:
            with self._lock:
                if stage in self._stages:
                    self._stages[stage] = now

    @contextmanager
    def working(self, stage: str) -> Iterator[None]:
        """While the block runs, `stage` is one of those that may be the one that hangs."""
        self.beat()
        with self._lock:
            self._stages[stage] = self._last
        try:
            yield
        finally:
            with self._lock:
                self._stages.pop(stage, None)
            self.beat()

    @property
    def stage(self) -> str | None:
        """The stage that has been silent for longest: when one hangs, those before it go on until its queue is full,
        those after it until theirs are empty. None: no stage is at work."""
        with self._lock:
            return min(self._stages, key=self._stages.__getitem__, default=None)

    @property
    def silent_seconds(self) -> float:
        return self._clock() - self._last

    @property
    def is_stuck(self) -> bool:
        return self.silent_seconds > self.stuck_seconds
