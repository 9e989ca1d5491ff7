"""The journal of a watch on disk: a line of JSON for each step of a slide, the last one of each slide counts.

OUT/.tessera-watch/journal.jsonl
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tessera.local_run.outcomes import Outcome, SlideOutcome
from wsi.records.fields import select_known_fields
from wsi.replacing import replace_file
from wsi.states import JobState

FOLDER = ".tessera-watch"
NAME = "journal.jsonl"
#: Lines that no longer count before the file is rewritten.
MOST_STALE = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalEntry:
    """The last step of one slide."""

    key: str  #: its path or URL
    name: str  #: of its folder of results
    version: str  #: of its files
    task: str  #: model and options
    attempt: int = 0  #: failures of this version before
    slide_id: str | None = None  #: of its upload
    job_id: str | None = None
    outcome: Outcome | None = None  #: None: it was begun, and its outcome is not known
    reason: str | None = None
    sentence: str | None = None
    tiles: int = 0
    unreadable: int = 0
    seconds: float = 0.0

    def is_of(self, version: str, task: str) -> bool:
        return (self.version, self.task) == (version, task)

    @property
    def is_final(self) -> bool:
        """True if the next watch leaves it at this outcome. A failure may have passed, but what somebody cancelled is
        not begun again."""
        cancelled = self.reason == JobState.CANCELLED.value.lower()
        return self.outcome is not None and (self.outcome is not Outcome.FAILED or cancelled)

    def with_outcome(self, outcome: SlideOutcome) -> JournalEntry:
        return replace(
            self,
            outcome=outcome.outcome,
            reason=outcome.reason,
            sentence=outcome.sentence,
            tiles=outcome.tiles,
            unreadable=outcome.unreadable,
            seconds=outcome.seconds,
        )

    def make_retry(self) -> JournalEntry:
        """Return the entry of the next attempt; one without an outcome goes on."""
        failed = self.attempt + (self.outcome is Outcome.FAILED)
        begun = JournalEntry(key=self.key, name=self.name, version=self.version, task=self.task)
        return replace(begun, attempt=failed, slide_id=self.slide_id)


class Journal:
    """The journal, for one process: see `tessera.local_run.checkpoints.hold_folder`. A line that a crash cut off is
    dropped."""

    def __init__(self, folder: Path) -> None:
        """Read what an earlier watch wrote into `folder`. Raises OSError."""
        self._path = folder / NAME
        self._cut = False  #: the last line may have no end
        self._entries: dict[str, JournalEntry] = {}
        folder.mkdir(parents=True, exist_ok=True)
        data = self._path.read_bytes() if self._path.exists() else b""
        lines = data.splitlines(keepends=True)
        for line in lines:
            entry = _read(line)
            if entry is not None:
                self._entries[entry.key] = entry
        if len(lines) - len(self._entries) > MOST_STALE or (lines and not lines[-1].endswith(b"\n")):
            self._rewrite()

    @property
    def entries(self) -> Mapping[str, JournalEntry]:
        return self._entries

    def record(self, entry: JournalEntry) -> None:
        """Write the entry, and return once its line is on disk. Raises OSError; the entry counts in this process all
        the same."""
        self._entries[entry.key] = entry
        line = b"\n" + _line(entry) if self._cut else _line(entry)
        self._cut = True
        with self._path.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._cut = False

    def _rewrite(self) -> None:
        temporary = self._path.with_suffix(".new")
        with temporary.open("wb") as file:
            file.writelines(_line(entry) for entry in self._entries.values())
            file.flush()
            os.fsync(file.fileno())
        replace_file(temporary, self._path)


def _line(entry: JournalEntry) -> bytes:
    stated = {name: value for name, value in asdict(entry).items() if value not in (None, 0)}
    return json.dumps(stated).encode() + b"\n"


def _read(line: bytes) -> JournalEntry | None:
    try:
        stated: dict[str, Any] = select_known_fields(JournalEntry, json.loads(line))
        if "outcome" in stated:
            stated["outcome"] = Outcome(stated["outcome"])
        return JournalEntry(**stated)
    except (ValueError, TypeError, AttributeError):
        return None  # cut off by a crash, or an outcome of a newer version: the slide is looked at again
