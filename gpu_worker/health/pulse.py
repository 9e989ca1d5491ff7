"""A worker's pulse: beaten at each step of the work, read by health, metrics and the watchdog."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pulse:
    """The time at which the work last made progress. For any thread."""

    def __init__(self, stuck_seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with a beat. `stuck_seconds`: longer than any step of work that is not stuck."""
        self.stuck_seconds = stuck_seconds
        self._clock = clock
        self._last = clock()

    def beat(self) -> None:
        """Record that a step of the work is done."""
        self._last = self._clock()

    @property
    def silent_seconds(self) -> float:
        """Return the seconds since the last beat."""
        return self._clock() - self._last

    @property
    def is_stuck(self) -> bool:
        """Return whether the last beat was too long ago."""
        return self.silent_seconds > self.stuck_seconds
