"""Events that a watch reports while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tessera.local_run.outcomes import SlideOutcome


class EventKind(StrEnum):
    """The kind of an event. Stable: printed by `--json`."""

    RESUMED = "resumed"  #: `count` slides were finished by an earlier watch
    ARRIVED = "arrived"  #: a slide or another file was seen for the first time
    CHANGED = "changed"  #: its files are others than they were
    WAITING = "waiting"  #: its files stay as they are, and it cannot be analysed yet; `sentence` says why
    STARTED = "started"
    ENDED = "ended"  #: it has its `outcome`
    VANISHED = "vanished"  #: before it had an outcome
    UNREACHABLE = "unreachable"  #: the folder or bucket cannot be listed; `sentence` says why
    REACHABLE = "reachable"  #: again
    UNRECORDED = "unrecorded"  #: the journal cannot be written; `sentence` says why


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    kind: EventKind
    slide: str = ""  #: path or URL
    name: str = ""  #: of its folder of results, once it has one
    sentence: str | None = None
    outcome: SlideOutcome | None = None
    count: int = 0
