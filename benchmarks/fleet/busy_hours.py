"""The time that a resource worked in each hour."""

from __future__ import annotations

HOUR = 3_600.0


class BusyHours:
    """Seconds of work by hour."""

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}

    def add(self, begin: float, seconds: float) -> None:
        """Add work that begins then, to each hour what falls into it."""
        end = begin + seconds
        hour = int(begin // HOUR)
        while begin < end:
            until = min(end, (hour + 1) * HOUR)
            self._seconds[hour] = self._seconds.get(hour, 0.0) + until - begin
            begin, hour = until, hour + 1

    @property
    def total(self) -> float:
        return sum(self._seconds.values())

    @property
    def most(self) -> float:
        """Seconds of the busiest hour."""
        return max(self._seconds.values(), default=0.0)
