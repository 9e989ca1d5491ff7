"""Decides which slides of a watched place are complete, from what each look at it saw. Pure: time is a number.

A slide is complete when the sizes and times of all its files have been the same for `Patience.settle` seconds. Sizes
count as well as times: `rsync -a` and `cp -p` restore an old time, and network mounts round it. A slide that is still
incomplete when it is opened (files missing, its end cut off) is tried again, with longer and longer pauses, until
`Patience.give_up` seconds have passed without any change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

LEAST_PAUSE = 1.0  #: seconds before a slide that was found incomplete is opened again


@dataclass(frozen=True, kw_only=True, slots=True)
class FileVersion:
    name: str  #: unique within the slide
    size: int  #: bytes
    stamp: str  #: changes with the content: the modification time of a file, the ETag of an object


def hash_version(files: Iterable[FileVersion]) -> str:
    """Return a digest that changes when a file of the slide comes, goes or changes."""
    lines = sorted(f"{file.name}\0{file.size}\0{file.stamp}" for file in files)
    return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    settle: float = 30.0  #: seconds without a change until a slide counts as complete
    give_up: float = 3600.0  #: seconds without a change until an incomplete slide is reported as rejected


@dataclass(frozen=True, kw_only=True, slots=True)
class Sighting:
    """A slide as one look saw it."""

    version: str  #: of all its files
    appears_whole: bool = False  #: its store never shows a part of it: it need not settle


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrival:
    """A slide as all looks so far saw it."""

    version: str
    since: float  #: seconds; when this version was first seen
    due: float  #: seconds; when it may be opened
    lacks: str | None = None  #: why the last opening found it incomplete
    ended: bool = False  #: this version has its outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """The changes that one look found. Keys are those of the slides."""

    arrivals: Mapping[str, Arrival]
    came: tuple[str, ...] = ()  #: never seen before, and without an outcome
    changed: tuple[str, ...] = ()  #: another version than the one that had an outcome or was found incomplete
    gone: tuple[str, ...] = ()  #: vanished before they had an outcome


def look(
    known: Mapping[str, Arrival],
    seen: Mapping[str, Sighting],
    now: float,
    patience: Patience,
    has_ended: Callable[[str, str], bool],
) -> Look:
    """Return the arrivals after a look that saw `seen`. `has_ended(key, version)` says whether an earlier run reached
    an outcome for this version."""
    arrivals: dict[str, Arrival] = {}
    came: list[str] = []
    changed: list[str] = []
    for key, sighting in seen.items():
        before = known.get(key)
        if before is not None and before.version == sighting.version:
            arrivals[key] = before
            continue
        ended = has_ended(key, sighting.version)
        due = now if sighting.appears_whole else now + patience.settle
        arrivals[key] = Arrival(version=sighting.version, since=now, due=due, ended=ended)
        if before is None and not ended:
            came.append(key)
        elif before is not None and (before.ended or before.lacks) and not ended:  # not at each step of a copy
            changed.append(key)
    gone = tuple(key for key, arrival in known.items() if key not in seen and not arrival.ended)
    return Look(arrivals=arrivals, came=tuple(came), changed=tuple(changed), gone=gone)


def find_due(arrivals: Mapping[str, Arrival], now: float) -> str | None:
    """Return the slide to open now: of those that are due, the one that has been complete for longest."""
    due = [(arrival.due, key) for key, arrival in arrivals.items() if not arrival.ended and arrival.due <= now]
    return min(due)[1] if due else None


def list_unfinished(arrivals: Mapping[str, Arrival]) -> tuple[str, ...]:
    """Return the slides without an outcome."""
    return tuple(key for key, arrival in arrivals.items() if not arrival.ended)


def mark_ended(arrival: Arrival) -> Arrival:
    """Return the arrival once this version has its outcome."""
    return replace(arrival, ended=True, lacks=None)


def put_off(arrival: Arrival, lacks: str, now: float, patience: Patience) -> Arrival | None:
    """Return the arrival with its next try, or None when the slide has been incomplete for too long. Each pause is as
    long as all that went before: an hour has about seven tries."""
    waited = now - arrival.since
    if waited >= patience.give_up:
        return None
    due = min(now + max(waited, LEAST_PAUSE), max(arrival.since + patience.give_up, now + LEAST_PAUSE))
    return replace(arrival, due=due, lacks=lacks)
