"""Whether the work goes on. A forward pass that a broken driver never ends would be waited for without an end: the
heartbeat, on its own thread, keeps the lease, so nobody else takes the shard either."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pulse:
    """Beats are written by the thread that works and read by any other."""

    def __init__(self, stuck_seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`stuck_seconds`: no honest step takes so long."""
        self._stuck_seconds = stuck_seconds
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
        return self.silent_seconds > self._stuck_seconds
