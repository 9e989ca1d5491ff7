"""A function behind a queue: Lambda's pollers, calls at once, and cold starts."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.fleet.busy_hours import BusyHours
from benchmarks.fleet.slides import SimulatedSlide
from benchmarks.keda_scaling.agenda import Agenda
from benchmarks.keda_scaling.spreads import Spread


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionTerms:
    """The numbers of a queue's function. Times are in s."""

    at_once: int
    seconds: Spread  #: of a call
    hop: float = 0.0  #: from the queue to the call
    cold_start: float = 0.0  #: of each further process
    at_first: int = 1_000_000  #: calls at once as messages begin to wait
    more_a_second: float = 0.0  #: of these, while messages wait


class FunctionQueue:
    """A queue and the calls of its function. `on_done` gets each message whose call has ended."""

    def __init__(
        self, name: str, terms: FunctionTerms, agenda: Agenda, *, seed: int, on_done: Callable[[SimulatedSlide], None]
    ) -> None:
        self.name, self.terms = name, terms
        self.waiting: deque[tuple[float, SimulatedSlide]] = deque()
        self.calls = 0
        self.waits: list[float] = []  #: s of each message from its arrival to its call
        self.busy = BusyHours()
        self._agenda, self._on_done = agenda, on_done
        self._random = random.Random(f"{seed}/{name}")
        self._running = self._processes = 0
        self._allowed = float(terms.at_first)
        self._waits_since: float | None = None  #: when `_allowed` was last grown, while messages wait
        self._looks_again = False

    def send(self, message: SimulatedSlide) -> None:
        self.waiting.append((self._agenda.now, message))
        self._call()

    def _call(self) -> None:
        """Begin the calls that may begin, and look again in a second for more."""
        terms = self.terms
        if self._waits_since is not None:
            self._allowed += (self._agenda.now - self._waits_since) * terms.more_a_second
        while self.waiting and self._running < min(terms.at_once, int(self._allowed)):
            self._begin()
        self._waits_since = self._agenda.now if self.waiting else None
        if self.waiting and self._running < terms.at_once and not self._looks_again:
            self._looks_again = True
            self._agenda.run_later(1.0, self._look_again)

    def _look_again(self) -> None:
        self._looks_again = False
        self._call()

    def _begin(self) -> None:
        now, terms = self._agenda.now, self.terms
        arrived, message = self.waiting.popleft()
        self.waits.append(now - arrived)
        seconds = terms.seconds.draw(self._random)
        if self._running == self._processes:
            self._processes += 1
            seconds += terms.cold_start
        self._running += 1
        self.calls += 1
        self.busy.add(now + terms.hop, seconds)
        self._agenda.run_later(terms.hop + seconds, lambda: self._end(message))

    def _end(self, message: SimulatedSlide) -> None:
        self._running -= 1
        self._on_done(message)
        self._call()
        if self._running == 0:
            self._allowed = float(self.terms.at_first)
