"""Prefetch: fetches the next tasks while the first is decoded, so that its successor's first bytes are there in time. A
store takes 20 to 100 ms for its first answer, in which a GPU computes a thousand tiles."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, replace
from typing import Final

from inference.channel import Channel, Closed
from inference.shard_task import ShardTask
from inference.stages.batch import compute_max_open_rows
from inference.stages.fetch import fetch
from inference.stages.values import Begun, FetchDone, Fetched

log = logging.getLogger(__name__)

#: Seconds that a thread gets to come back from a read on the network; threads are daemons and keep no process alive.
JOIN_SECONDS: Final = 5.0

Value = Begun | Fetched | FetchDone


@dataclass(frozen=True, slots=True)
class FetchTimes:
    """Seconds of the fetch stage, over all tasks."""

    reading: float = 0.0  #: waiting for the slide's answers
    room: float = 0.0  #: waiting for room behind this stage
    starving: float = 0.0  #: the next stage waited for values

    def __add__(self, more: FetchTimes) -> FetchTimes:
        return FetchTimes(self.reading + more.reading, self.room + more.room, self.starving + more.starving)


class Prefetcher:
    """Fetches each task on a thread of its own, and hands their values on one task after the other. `get` is for one
    thread, `begin` for any."""

    def __init__(self, budget: int, capacity: int, *, join_seconds: float = JOIN_SECONDS) -> None:
        """Begin without tasks. `budget`: bytes of the memory that batches may fill. `capacity`: bytes of a task that
        may wait."""
        self._budget = budget
        self._join_seconds = join_seconds
        self._capacity = capacity
        self._line: Channel[_TaskFetch] = Channel(0)
        self._current: _TaskFetch | None = None
        self._finished = FetchTimes()  #: of tasks that are fetched and handed on
        self._begun: set[_TaskFetch] = set()
        self._lock = threading.Lock()

    def begin(self, task: ShardTask) -> None:
        """Start to fetch a task. Raises Closed."""
        begun = _TaskFetch(task, max_open=compute_max_open_rows(self._budget, task.shape), capacity=self._capacity)
        with self._lock:
            self._begun.add(begun)
        self._line.put(begun)
        begun.thread.start()

    def get(self, timeout: float | None = None) -> Value | None:
        """Return the next value of the oldest task, whose last one is FetchDone; None if none came within `timeout`
        seconds. Raises Closed, and what broke the stage."""
        if self._current is None:
            self._current = self._line.get(timeout)
        if self._current is None:
            return None
        value = self._current.values.get(timeout)
        if isinstance(value, FetchDone):
            self._finish(self._current)
        return value

    @property
    def times(self) -> FetchTimes:
        """Return what the stage spent so far."""
        with self._lock:
            times = self._finished
            for begun in self._begun:
                times += begun.times
        return replace(times, starving=times.starving + self._line.get_waited)

    @property
    def starves(self) -> bool:
        """Return whether the next stage waits for a value now."""
        current = self._current
        return self._line.starves if current is None else current.values.starves

    def close(self) -> None:
        """End all fetching; values that wait are dropped."""
        self._line.close()
        with self._lock:
            begun = list(self._begun)
        for each in begun:
            each.values.close()
        for each in begun:
            if each.thread.ident is not None:
                each.thread.join(self._join_seconds)
            if each.thread.is_alive():
                log.warning("stage did not end in time", extra={"stage": "fetch"})

    def _finish(self, begun: _TaskFetch) -> None:
        with self._lock:
            self._current = None
            self._begun.discard(begun)
            self._finished += begun.times


class _TaskFetch:
    """One task that is being fetched."""

    def __init__(self, task: ShardTask, *, max_open: int, capacity: int) -> None:
        self.values: Channel[Value] = Channel(capacity)
        self._reading = 0.0
        self.thread = threading.Thread(target=self._fetch, args=(task, max_open), name="fetch", daemon=True)

    @property
    def times(self) -> FetchTimes:
        return FetchTimes(self._reading, self.values.put_waited, self.values.get_waited)

    def _fetch(self, task: ShardTask, max_open: int) -> None:
        try:
            since = time.perf_counter()
            for value in fetch(task, max_open=max_open):
                self._reading += time.perf_counter() - since
                self.values.put(value, len(value.encoded.data) if isinstance(value, Fetched) else 0)
                since = time.perf_counter()
        except Closed:
            pass
