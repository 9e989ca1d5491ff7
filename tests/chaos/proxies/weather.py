"""What happens to requests on their way: faults that last for a while, and traps that spring once."""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

REFUSED, SLOW, SHORT, CUT, SWALLOWED, HELD = "refused", "slow", "short", "cut", "swallowed", "held"


@dataclass(frozen=True, kw_only=True)
class Spell:
    """A fault of some requests for a while."""

    what: str  #: REFUSED …
    request: re.Pattern[str]
    share: float  #: of the requests that match
    until: float  #: monotonic
    seconds: float = 0.0  #: that SLOW and HELD take


@dataclass(frozen=True, kw_only=True)
class Trap:
    """What happens once, when a process sends a certain request: before it is passed on, or after it was answered and
    before the process hears of it."""

    sender: str
    request: re.Pattern[str]
    after: bool
    spring: Callable[[str], None]  #: gets the sender
    name: str
    passes: bool = False  #: the request or its answer goes on all the same


@dataclass
class Weather:
    """Thread-safe: the harness's thread makes it, that of the proxies asks for it."""

    chance: random.Random
    happened: Counter[str] = field(default_factory=Counter)
    _spells: list[Spell] = field(default_factory=list)
    _traps: list[Trap] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, spell: Spell) -> None:
        with self._lock:
            self._spells.append(spell)

    def lay(self, trap: Trap) -> None:
        with self._lock:
            self._traps.append(trap)

    def clear(self) -> None:
        with self._lock:
            self._spells.clear()
            self._traps.clear()

    def find_spell(self, request: str, kinds: Iterable[str]) -> Spell | None:
        """The spell that hits this request, counted; None mostly."""
        now, kinds = time.monotonic(), set(kinds)
        with self._lock:
            self._spells = [spell for spell in self._spells if spell.until > now]
            for spell in self._spells:
                if spell.what in kinds and spell.request.search(request) and self.chance.random() < spell.share:
                    self.happened[f"{spell.what} {request.split()[0]}"] += 1
                    return spell
        return None

    def find_trap(self, sender: str, request: str, *, after: bool) -> Trap | None:
        """The trap that this request springs, which is gone then."""
        with self._lock:
            for trap in self._traps:
                if (trap.sender, trap.after) == (sender, after) and trap.request.search(request):
                    self._traps.remove(trap)
                    self.happened[trap.name] += 1
                    return trap
        return None
