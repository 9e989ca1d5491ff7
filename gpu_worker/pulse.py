"""Whether the work goes on. A forward pass that a broken driver never ends would be waited for without an end: the
heartbeat, on its own thread, keeps the lease, so nobody else takes the shard either."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Far above the longest honest step: fetching and compiling a large model, or copying a slide of 8 GiB.
STUCK_SECONDS = 1800.0


class Pulse:
    """Beats are written by the thread that works and read by any other."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
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
        return self.silent_seconds > STUCK_SECONDS
