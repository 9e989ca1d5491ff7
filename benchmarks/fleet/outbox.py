"""The outbox and its relay: rows of messages and of pushes, sent in rounds by a few runs at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.fleet.busy_hours import BusyHours
from benchmarks.keda_scaling.agenda import Agenda


@dataclass(frozen=True, kw_only=True, slots=True)
class RelayTerms:
    """The numbers of the relay. Times are in s."""

    at_once: int  #: runs
    rows: int  #: of a round
    row_seconds: float
    message_seconds: float  #: from a round's claim until its messages have been sent, which go before its pushes
    least_seconds: float  #: of a round
    hop: float = 0.0  #: from a commit to the run that it wakes


class SimulatedOutbox:
    """Rows in the order of their commits. A row of a message has an action, which its arrival runs; a push has none."""

    def __init__(self, terms: RelayTerms, agenda: Agenda) -> None:
        self.terms = terms
        self.sent = 0
        self.longest_wait = 0.0
        self.busy = BusyHours()  #: of its runs
        self.work = BusyHours()  #: what the rows would take in full rounds: a run that has time makes small ones
        self._agenda = agenda
        self._rows: deque[tuple[float, Callable[[], None] | None]] = deque()
        self._runs = 0

    @property
    def waiting(self) -> int:
        return len(self._rows)

    def commit(self, *messages: Callable[[], None], pushes: int = 0) -> None:
        """Insert rows, and wake the relay."""
        now = self._agenda.now
        self._rows.extend((now, message) for message in messages)
        self._rows.extend((now, None) for _ in range(pushes))
        if self._runs < self.terms.at_once:
            self._runs += 1
            self._agenda.run_later(self.terms.hop, self._run_round)

    def _run_round(self) -> None:
        """Claim a round and send it, or end this run when nothing is left."""
        if not self._rows:
            self._runs -= 1
            return
        now, terms = self._agenda.now, self.terms
        claimed = [self._rows.popleft() for _ in range(min(terms.rows, len(self._rows)))]
        self.sent += len(claimed)
        self.longest_wait = max(self.longest_wait, now - claimed[0][0])
        messages = [message for _, message in claimed if message is not None]
        seconds = max(terms.least_seconds, len(claimed) * terms.row_seconds)
        self.busy.add(now, seconds)
        self.work.add(now, len(claimed) * terms.row_seconds)
        if messages:
            self._agenda.run_later(terms.message_seconds, lambda: _run_all(messages))
        self._agenda.run_later(seconds, self._run_round)


def _run_all(actions: list[Callable[[], None]]) -> None:
    for action in actions:
        action()
