"""Works fetched side by side and handed on one behind the other: when the last tile of one is decoded, the first bytes
of the next are there. A store takes 20 to 100 ms for its first answer, in which a GPU computes a thousand tiles."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, replace
from typing import Final

from gpu_worker.channel import Channel, Closed
from gpu_worker.stages.batch import most_open
from gpu_worker.stages.fetch import fetch
from gpu_worker.stages.values import Begun, Fetched, Sent
from gpu_worker.work import Work

log = logging.getLogger(__name__)

#: Seconds that a thread gets to come back from a read on the network; threads are daemons and keep no process alive.
JOIN_SECONDS: Final = 5.0

Value = Begun | Fetched | Sent


@dataclass(frozen=True, slots=True)
class Seconds:
    """Of all works together."""

    reading: float = 0.0  #: from asking the slide to its answer
    room: float = 0.0  #: waiting for room behind this stage
    asking: float = 0.0  #: of whoever gets, waiting for values

    def __add__(self, more: Seconds) -> Seconds:
        return Seconds(self.reading + more.reading, self.room + more.room, self.asking + more.asking)


class Fetching:
    """`get` is one thread's, `begin` anybody's."""

    def __init__(self, budget: int, capacity: int) -> None:
        """`budget`: bytes of the memory that batches may fill. `capacity`: bytes of a work that may wait."""
        self._budget = budget
        self._capacity = capacity
        self._line: Channel[_Fetched] = Channel(0)
        self._now: _Fetched | None = None
        self._through = Seconds()  #: by works that are fetched and handed on
        self._begun: set[_Fetched] = set()
        self._lock = threading.Lock()

    def begin(self, work: Work) -> None:
        """Raises Closed."""
        begun = _Fetched(work, most=most_open(self._budget, work.shape), capacity=self._capacity)
        with self._lock:
            self._begun.add(begun)
        self._line.put(begun)
        begun.thread.start()

    def get(self, timeout: float | None = None) -> Value | None:
        """The next value of the oldest work, of which Sent is the last. None: nothing came in that many seconds. Raises
        Closed, and what broke the stage."""
        if self._now is None:
            self._now = self._line.get(timeout)
        if self._now is None:
            return None
        value = self._now.values.get(timeout)
        if isinstance(value, Sent):
            self._is_through(self._now)
        return value

    @property
    def spent(self) -> Seconds:
        with self._lock:
            spent = self._through
            for begun in self._begun:
                spent += begun.spent
        return replace(spent, asking=spent.asking + self._line.get_waited)

    @property
    def starves(self) -> bool:
        """Whoever gets waits for a value now."""
        now = self._now
        return self._line.starves if now is None else now.values.starves

    def close(self) -> None:
        self._line.close()
        with self._lock:
            begun = list(self._begun)
        for each in begun:
            each.values.close()
        for each in begun:
            if each.thread.ident is not None:
                each.thread.join(JOIN_SECONDS)
            if each.thread.is_alive():
                log.warning("stage did not end in time", extra={"stage": "fetch"})

    def _is_through(self, begun: _Fetched) -> None:
        with self._lock:
            self._now = None
            self._begun.discard(begun)
            self._through += begun.spent


class _Fetched:
    """A work on its way."""

    def __init__(self, work: Work, *, most: int, capacity: int) -> None:
        self.values: Channel[Value] = Channel(capacity)
        self._reading = 0.0
        self.thread = threading.Thread(target=self._fetch, args=(work, most), name="fetch", daemon=True)

    @property
    def spent(self) -> Seconds:
        return Seconds(self._reading, self.values.put_waited, self.values.get_waited)

    def _fetch(self, work: Work, most: int) -> None:
        try:
            since = time.perf_counter()
            for value in fetch(work, most=most):
                self._reading += time.perf_counter() - since
                self.values.put(value, len(value.encoded.data) if isinstance(value, Fetched) else 0)
                since = time.perf_counter()
        except Closed:
            pass
