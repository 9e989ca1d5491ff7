"""Whether the work goes on: written by whoever works, read by health, metrics and the watchdog."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pulse:
    """Beats come from any thread."""

    def __init__(self, stuck_seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`stuck_seconds`: no honest step takes so long."""
        self.stuck_seconds = stuck_seconds
        self._clock = clock
        self._last = clock()

    def beat(self) -> None:
        """A step of the work is done."""
        self._last = self._clock()

    @property
    def silent_seconds(self) -> float:
        return self._clock() - self._last

    @property
    def is_stuck(self) -> bool:
        return self.silent_seconds > self.stuck_seconds
