"""The loop of `tessera watch`: look, decide, analyse one slide, look again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from tessera.local_run.batch import run_guarded
from tessera.local_run.inputs.slide_input import Found, SlideInput, UsageError, get_place
from tessera.local_run.outcomes import Outcome, SlideOutcome
from tessera.watching.arrivals import Arrival, Patience, find_due, list_unfinished, look, mark_ended, put_off
from tessera.watching.candidates import ArrivedSlide, count_being_written, find_candidates
from tessera.watching.events import Event, EventKind
from tessera.watching.journal import Journal, JournalEntry
from tessera.watching.names import Names
from tessera.watching.probe import INCOMPLETE
from wsi.errors import (
    Conflict,
    DeviceLost,
    Forbidden,
    RejectReason,
    SourceChanged,
    SourceMissing,
    SourceTruncated,
    SourceUnavailable,
    TesseraError,
    TooManyRequests,
    Unauthenticated,
)

#: Failures that every further slide would meet as well: the watch ends.
_OF_ALL: Final = {error.code: error for error in (DeviceLost, Forbidden, Unauthenticated)}
LONGEST_PAUSE: Final = 300.0  #: seconds between looks at a place that cannot be listed
JOBS_A_LOOK: Final = 20  #: that are asked for their state
#: A slide that is rejected for one of these may still be on its way, or its store or the installation is busy.
_MAY_PASS: Final = frozenset(
    {
        *(reason.value for reason in INCOMPLETE),
        *(error.code for error in (SourceChanged, SourceMissing, SourceTruncated, SourceUnavailable)),
        *(error.code for error in (TooManyRequests, Conflict)),
    }
)


class Place(Protocol):
    root: str  #: the folder or prefix, as locations begin

    def search(self) -> Found:
        """Search the place. Raises UsageError or TesseraError while it cannot be listed."""
        ...

    def get_key(self, slide: SlideInput) -> str:
        """Return the key by which a slide of the last search is known, whatever arrives next to it."""
        ...

    def is_as_found(self, slide: SlideInput) -> bool:
        """Return whether the slide's files are as the last search found them."""
        ...


class Analysis(Protocol):
    """The analysis of a slide. Both methods raise every error as it is."""

    @property
    def task(self) -> str:
        """Model and options: a slide that was analysed by another task is analysed again."""
        ...

    @property
    def collects(self) -> bool:
        """True if SUBMITTED is followed by an outcome from `collect`."""
        ...

    def begin(self, slide: SlideInput, entry: JournalEntry, record: Callable[[JournalEntry], None]) -> SlideOutcome: ...

    def collect(self, entry: JournalEntry) -> SlideOutcome:
        """Return the outcome of a job that was submitted: SUBMITTED while it runs."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchPace:
    interval: float = 10.0  #: seconds between looks
    patience: Patience = field(default_factory=Patience)
    once: bool = False  #: end when everything that was seen has its outcome


class Watcher:
    """A watcher, for one thread and one folder of results."""

    def __init__(
        self,
        place: Place,
        analysis: Analysis,
        journal: Journal,
        out: Path,
        *,
        pace: SearchPace,
        probe: Callable[[SlideInput], None],
        wait: Callable[[float], None],
        tell: Callable[[Event], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the parts of a watch. `probe` raises SlideRejected for a slide that is not complete. `wait` sleeps, and
        raises KeyboardInterrupt when the watch must end."""
        self._place = place
        self._analysis = analysis
        self._journal = journal
        self._out = out
        self._pace = pace
        self._probe = probe
        self._wait = wait
        self._tell = tell
        self._clock = clock
        self._at_work: str | None = None
        self._candidates: Mapping[str, ArrivedSlide] = {}
        self._locations: dict[str, str] = {}  #: by key, also of slides that are gone
        self._arrivals: dict[str, Arrival] = {}
        self._outcomes: dict[str, SlideOutcome] = {}
        entries = journal.entries.items()
        self._names = Names({key: one.name for key, one in entries if one.outcome is not Outcome.LEFT_OUT})
        self._jobs = deque(key for key, entry in entries if self._is_awaited(entry))
        self._is_unanswered = False  #: the installation did not answer when it was last asked for a job
        self.being_written = 0  #: files with temporary names at the last look

    def run(self) -> None:
        """Watch for good, or with `Pace.once` until everything that was seen has its outcome. Raises KeyboardInterrupt
        when the watch must end, what the first look raises, and a failure that every further slide would meet as
        well."""
        self._look()
        finished = sum(arrival.ended for arrival in self._arrivals.values())
        if finished or self._jobs:
            self._tell(Event(kind=EventKind.RESUMED, count=finished))
        failures = 0
        while True:
            if not failures:
                self._analyse_due()
                self._collect()
                if self._pace.once and not list_unfinished(self._arrivals) and not self._jobs:
                    return
            self._wait(min(self._pace.interval * 2 ** min(failures, 10), max(self._pace.interval, LONGEST_PAUSE)))
            try:
                self._look()
            except (UsageError, TesseraError, OSError) as error:
                if not failures:
                    self._tell(Event(kind=EventKind.UNREACHABLE, sentence=_sentence(error)))
                failures += 1
            else:
                if failures:
                    self._tell(Event(kind=EventKind.REACHABLE))
                failures = 0

    def list_outcomes(self) -> tuple[SlideOutcome, ...]:
        """Return an outcome for everything that came since this watch began; WAITING for what has none yet."""
        waiting = {
            key: SlideOutcome(name=self._display(key), outcome=Outcome.WAITING, sentence=self._why_unfinished(key))
            for key in list_unfinished(self._arrivals)
        }
        return tuple((self._outcomes | waiting).values())

    def _look(self) -> None:
        found = self._place.search()
        before, self._candidates = self._candidates, find_candidates(found, self._place.root, self._place.get_key)
        self.being_written = count_being_written(found, self._place.root)
        seen = {key: candidate.sighting for key, candidate in self._candidates.items()}
        result = look(self._arrivals, seen, self._clock(), self._pace.patience, self._has_ended)
        self._arrivals = dict(result.arrivals)
        self._locations |= {key: candidate.location for key, candidate in self._candidates.items()}
        for key in result.came:
            self._tell_of_slide(EventKind.ARRIVED, key, self._candidates[key])
        for key in result.changed:
            self._outcomes.pop(key, None)
            self._tell_of_slide(EventKind.CHANGED, key, self._candidates[key])
        for key in result.gone:
            if before[key].slide is not None:
                sentence = "It vanished before it could be analysed."
                self._outcomes[key] = SlideOutcome(name=self._display(key), outcome=Outcome.VANISHED, sentence=sentence)
            self._tell_of_slide(EventKind.VANISHED, key, before[key])
        # Left out before, and part of a slide since the rest of it came.
        for file in self._outcomes.keys() & (found.entries.keys() - self._candidates.keys()):
            del self._outcomes[file]

    def _tell_of_slide(self, kind: EventKind, key: str, candidate: ArrivedSlide) -> None:
        """Report the event of a slide; of any other file only its end is reported."""
        if candidate.slide is not None:
            self._tell(Event(kind=kind, slide=self._locations[key]))

    def _has_ended(self, key: str, version: str) -> bool:
        entry = self._journal.entries.get(key)
        return entry is not None and entry.is_of(version, self._analysis.task) and entry.is_final

    def _is_awaited(self, entry: JournalEntry) -> bool:
        return self._analysis.collects and entry.outcome is Outcome.SUBMITTED and entry.task == self._analysis.task

    def _analyse_due(self) -> None:
        """Analyse slides that are due, and return when it is time for the next look, so that a look comes between any
        two slides that take long, and before a slide that changed since the last one."""
        until = self._clock() + self._pace.interval
        while (key := find_due(self._arrivals, self._clock())) is not None:
            self._wait(0)
            candidate = self._candidates[key]
            if candidate.slide is not None and not self._place.is_as_found(candidate.slide):
                return
            self._attempt(key, candidate)
            if self._clock() >= until:
                return

    def _attempt(self, key: str, candidate: ArrivedSlide) -> None:
        begun = self._make_entry(key, candidate)
        if candidate.slide is None or candidate.lacks:
            outcome = _without_analysis(candidate, begun.name)
        else:
            self._at_work = key
            slide = replace(candidate.slide, name=begun.name)
            outcome = run_guarded(slide, lambda slide: self._analyse(slide, begun), self._out / begun.name)
            self._at_work = None
        may_pass = candidate.lacks is not None or (candidate.slide is not None and outcome.reason in _MAY_PASS)
        if may_pass and self._put_off(key, outcome.sentence or ""):
            return
        recorded = self._journal.entries.get(key)
        is_newer = recorded is not None and recorded.is_of(begun.version, begun.task) and recorded.outcome is None
        self._end(recorded if recorded is not None and is_newer else begun, outcome)
        if outcome.reason in _OF_ALL:
            raise _OF_ALL[outcome.reason](outcome.sentence or "")

    def _make_entry(self, key: str, candidate: ArrivedSlide) -> JournalEntry:
        version, task = candidate.sighting.version, self._analysis.task
        before = self._journal.entries.get(key)
        if before is not None and before.is_of(version, task):
            return before.make_retry()
        if candidate.slide is None:
            name = self._below(key)
        else:
            name = self._names.choose(key, get_place(candidate.slide), candidate.slide.name)
        return JournalEntry(key=key, name=name, version=version, task=task)

    def _analyse(self, slide: SlideInput, begun: JournalEntry) -> SlideOutcome:
        self._probe(slide)
        self._journal.record(begun)
        self._tell(Event(kind=EventKind.STARTED, slide=self._locations[begun.key], name=begun.name))
        return self._analysis.begin(slide, begun, self._journal.record)

    def _put_off(self, key: str, lacks: str) -> bool:
        before = self._arrivals[key]
        later = put_off(before, lacks, self._clock(), self._pace.patience)
        if later is None:
            return False
        self._arrivals[key] = later
        if lacks != before.lacks:
            self._tell(Event(kind=EventKind.WAITING, slide=self._locations[key], sentence=lacks))
        return True

    def _end(self, entry: JournalEntry, outcome: SlideOutcome) -> None:
        key, entry = entry.key, entry.with_outcome(outcome)
        self._outcomes[key] = outcome
        if key in self._arrivals and self._arrivals[key].version == entry.version:
            self._arrivals[key] = mark_ended(self._arrivals[key])
        try:
            self._journal.record(entry)
        except OSError as error:
            self._tell(Event(kind=EventKind.UNRECORDED, slide=self._locations.get(key, key), sentence=error.strerror))
        if self._is_awaited(entry):
            self._jobs.append(key)
        self._tell(Event(kind=EventKind.ENDED, slide=self._locations.get(key, key), name=entry.name, outcome=outcome))

    def _collect(self) -> None:
        """Collect the outcomes of the jobs that were asked for longest ago."""
        for _ in range(min(JOBS_A_LOOK, len(self._jobs))):
            self._wait(0)
            key = self._jobs.popleft()
            entry = self._journal.entries[key]
            if not self._is_awaited(entry):
                continue  # of a version that was replaced
            outcome = self._ask(entry)
            may_pass = outcome.reason in _MAY_PASS
            if outcome.outcome is Outcome.SUBMITTED or may_pass:
                self._jobs.append(key)
            else:
                self._end(entry, outcome)
            if may_pass and not self._is_unanswered:  # one line for all jobs
                self._tell(
                    Event(kind=EventKind.WAITING, slide=self._locations.get(key, key), sentence=outcome.sentence)
                )
            self._is_unanswered = may_pass

    def _ask(self, entry: JournalEntry) -> SlideOutcome:
        slide = SlideInput(location=entry.key, name=entry.name)
        return run_guarded(slide, lambda _: self._analysis.collect(entry), self._out / entry.name)

    def _why_unfinished(self, key: str) -> str:
        if key == self._at_work:
            return "The watch ended while the slide was analysed: the next one resumes it."
        return self._arrivals[key].lacks or "The watch ended before the slide's turn came."

    def _display(self, key: str) -> str:
        return self._names.get(key) or self._below(key)

    def _below(self, key: str) -> str:
        return self._locations.get(key, key).removeprefix(self._place.root).lstrip("/")


def _without_analysis(candidate: ArrivedSlide, name: str) -> SlideOutcome:
    if candidate.left_out is None:
        return SlideOutcome(
            name=name, outcome=Outcome.REJECTED, reason=RejectReason.MISSING_FILES.value, sentence=candidate.lacks
        )
    reason, sentence = candidate.left_out.reason.value, candidate.left_out.sentence
    return SlideOutcome(name=name, outcome=Outcome.LEFT_OUT, reason=reason, sentence=sentence)


def _sentence(error: UsageError | TesseraError | OSError) -> str:
    if isinstance(error, TesseraError):
        return error.sentence
    return (error.strerror or "the system gives no reason") if isinstance(error, OSError) else str(error)
