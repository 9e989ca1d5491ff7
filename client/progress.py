"""Progress bars and complaints on stderr; stdout stays for results."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from client.inputs import Found, LeftOutReason
from client.outcomes import MOST_NAMED, Outcome, SlideOutcome
from client.terminal import escaped
from wsi.texts import visible


def complain(sentence: str) -> None:
    """One line on stderr, above a bar when one stands."""
    Console(stderr=True, highlight=False, soft_wrap=True, markup=False).print(f"tessera: {visible(sentence)}")


def with_options(sentence: str) -> str:
    """The sentence names fields of the API, as the page and programs know them; here each has an option."""
    return re.sub("`(mpp|optical_path|focal_plane|picture)`", lambda field: "--" + field[1].replace("_", "-"), sentence)


def report(outcome: SlideOutcome) -> None:
    """Why a slide has no results: reason code and one sentence."""
    if outcome.outcome in (Outcome.REJECTED, Outcome.FAILED):
        sentence = with_options(outcome.sentence or "")
        complain(f"{outcome.name}: {outcome.outcome.value} ({outcome.reason}): {sentence}")


def report_found(found: Found) -> None:
    """Say which names were read as others, and why files are left out: the first of each reason, since the table has
    them all. Hidden files and our own results are in every folder and need no line."""
    for note in found.notes:
        complain(note)
    lines: Counter[LeftOutReason] = Counter()
    for one in found.left_out:
        if one.reason in (LeftOutReason.HIDDEN, LeftOutReason.OWN_RESULT):
            continue
        lines[one.reason] += 1
        if lines[one.reason] <= MOST_NAMED:
            complain(f"{one.location}: left out ({one.reason.value}): {one.sentence}")
    for reason, count in lines.items():
        if count > MOST_NAMED:
            complain(f"{count - MOST_NAMED:,} more are left out ({reason.value})")


class TilesBar:
    """One line for the slide that runs: tiles done, tiles a second, time left."""

    def __init__(self, *, transient: bool = False) -> None:
        """With `transient` the line is removed at the end, and not drawn into a file at all."""
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=transient,
            disable=transient and not console.is_terminal,
        )
        self._task: TaskID | None = None
        self._since = 0.0
        self._done = 0

    def __enter__(self) -> TilesBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, name: str) -> Callable[[int], None]:
        """A line for the next slide in place of the last one's: what came of that stands in the table. The function
        returned tells how many tiles the slide has."""
        for old in self._bar.task_ids:
            self._bar.remove_task(old)
        task = self._task = self._bar.add_task(escaped(name), total=None, rate="")
        self._since, self._done = time.monotonic(), 0
        return lambda tiles: self._bar.update(task, total=tiles, completed=0, rate="")

    def copied(self, done: int, total: int) -> None:
        """The slide is copied before its tiles are known: the bar counts MiB until then."""
        if self._task is not None:
            self._bar.update(self._task, completed=done >> 20, total=total >> 20, rate="MiB copied")

    def advance(self, tiles: int) -> None:
        self._done += tiles
        self.show(self._done, rate=self._done / max(time.monotonic() - self._since, 1e-3))

    def show(self, done: int, *, rate: float | None) -> None:
        if self._task is not None:
            self._bar.update(self._task, completed=done, rate=f"{rate:,.0f} tiles/s" if rate else "")


def bytes_bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )


@contextmanager
def copy_bar() -> Generator[Callable[[int, int], None]]:
    """A bar for a slide that is copied; of one that is not, nothing is seen. The function takes (bytes done, of)."""
    bar = bytes_bar()
    task = bar.add_task("copy", total=None)

    def on_copy(done: int, total: int) -> None:
        bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield on_copy
    finally:
        if bar.live.is_started:
            bar.stop()
