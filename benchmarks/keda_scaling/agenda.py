"""The clock of a simulation, and what happens at which time."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable


class Agenda:
    """Actions in the order of their times; those of one time in the order in which they were added."""

    def __init__(self) -> None:
        self.now = 0.0
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def run_at(self, time: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._entries, (time, next(self._order), action))

    def run_later(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._entries, (self.now + seconds, next(self._order), action))

    def step(self) -> None:
        """Run the next action, at its time. Raises IndexError when there is none."""
        self.now, _, action = heapq.heappop(self._entries)
        action()
