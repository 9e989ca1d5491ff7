"""A place in memory, a machine and a clock that only waiting moves, for the loop of `tessera watch`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tessera.local_run.inputs.listing import FileEntry
from tessera.local_run.inputs.slide_input import Found, LeftOut, LeftOutReason, SlideInput, UsageError
from tessera.local_run.outcomes import Outcome, SlideOutcome
from tessera.watching.arrivals import Patience
from tessera.watching.events import Event, EventKind
from tessera.watching.journal import FOLDER, Journal, JournalEntry
from tessera.watching.watcher import SearchPace, Watcher
from wsi.errors import RejectReason, SlideRejected, SourceChanged, SourceUnavailable

PACE = SearchPace(interval=10, patience=Patience(settle=30, give_up=600))
ONCE = replace(PACE, once=True, patience=replace(PACE.patience, give_up=0))


def entry(location: str, version: str) -> FileEntry:
    return FileEntry(location=location, size=1, stamp=version, real=location)


class Killed(BaseException):
    """Stands for SIGKILL: nothing after it runs."""


@dataclass
class World:
    """A folder, a machine and a clock; `plan` holds what happens when."""

    out: Path
    now: float = 0.0
    slides: dict[str, dict[str, str]] = field(default_factory=dict)  #: location -> file -> version
    others: dict[str, LeftOutReason] = field(default_factory=dict)
    plan: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    is_complete: Callable[[str], bool] = lambda location: True
    run: Callable[[str], SlideOutcome | None] = lambda location: None
    takes: float = 0.0  #: seconds a slide
    searches: int = 0
    found: dict[str, dict[str, str]] = field(default_factory=dict)  #: the slides at the last search
    unreachable: bool = False
    is_down: bool = False  #: the installation
    events: list[Event] = field(default_factory=list)
    analysed: list[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=list)
    root = "/in"
    task = "model"
    collects = False
    ended_jobs: set[str] = field(default_factory=set)
    asked: Counter[str] = field(default_factory=Counter)

    def put(self, name: str, version: str = "1", *, file: str | None = None) -> None:
        location = f"/in/{name}"
        self.slides.setdefault(location, {})[f"/in/{file or name}"] = version

    def at(self, seconds: float, act: Callable[[], None]) -> None:
        self.plan.append((seconds, act))
        self.plan.sort(key=lambda planned: planned[0])

    def interrupt(self) -> None:
        raise KeyboardInterrupt

    # --- the ports of a watch
    def search(self) -> Found:
        self.searches += 1
        if self.unreachable:
            raise UsageError("The folder /in cannot be read: No such file or directory")
        self.found = {location: dict(parts) for location, parts in self.slides.items()}
        files = {file: version for parts in self.slides.values() for file, version in parts.items()}
        return Found(
            slides=tuple(
                SlideInput(location=location, files=tuple(parts), name=Path(location).stem)
                for location, parts in self.slides.items()
            ),
            left_out=tuple(
                LeftOut(location=one, reason=reason, sentence="It is none.") for one, reason in self.others.items()
            ),
            entries={file: entry(file, version) for file, version in files.items()},
        )

    def get_key(self, slide: SlideInput) -> str:
        return slide.location

    def is_as_found(self, slide: SlideInput) -> bool:
        return self.slides.get(slide.location) == self.found[slide.location]

    def begin(self, slide: SlideInput, begun: JournalEntry, record: Callable[[JournalEntry], None]) -> SlideOutcome:
        parts = dict(self.slides[slide.location])
        self.pass_time(self.takes)
        outcome = self.run(slide.location)
        if self.slides.get(slide.location) != parts:
            raise SourceChanged("The file was replaced while it was read.")
        self.analysed.append((slide.location, tuple(sorted(parts.items()))))
        if self.collects:
            record(replace(begun, job_id=f"job of {slide.name}"))
            return SlideOutcome(name=slide.name, outcome=Outcome.SUBMITTED)
        return outcome or SlideOutcome(name=slide.name, outcome=Outcome.COMPLETED, tiles=5)

    def collect(self, of: JournalEntry) -> SlideOutcome:
        self.asked[of.name] += 1
        if self.is_down:
            raise SourceUnavailable("The server cannot be reached.")
        ended = of.job_id in self.ended_jobs
        return SlideOutcome(name=of.name, outcome=Outcome.COMPLETED if ended else Outcome.SUBMITTED)

    def probe(self, slide: SlideInput) -> None:
        if not self.is_complete(slide.location):
            raise SlideRejected(RejectReason.TRUNCATED, "The file ends in the middle.")

    def pass_time(self, seconds: float) -> None:
        until = self.now + seconds
        while self.plan and self.plan[0][0] <= until:
            self.now, act = self.plan.pop(0)
            act()
        self.now = until

    def watch(self, pace: SearchPace = PACE) -> Watcher:
        watcher = Watcher(
            self,
            self,
            Journal(self.out / FOLDER),
            self.out,
            pace=pace,
            probe=self.probe,
            wait=self.pass_time,
            tell=self.events.append,
            clock=lambda: self.now,
        )
        try:
            watcher.run()
        except KeyboardInterrupt:
            assert not pace.once
        return watcher

    def told(self, *kinds: EventKind) -> list[str]:
        return [
            f"{event.kind.value} {event.slide}" for event in self.events if event.kind in (kinds or tuple(EventKind))
        ]


def rows(watcher: Watcher) -> dict[str, str]:
    return {one.name: one.outcome.value for one in watcher.list_outcomes()}
