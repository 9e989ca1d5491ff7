"""Progress bars and complaints on stderr; stdout stays for results."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from tessera.terminal import escape_text
from wsi.texts import escape_control


def complain(sentence: str) -> None:
    """Print one line on stderr, above a bar if one is shown."""
    Console(stderr=True, highlight=False, soft_wrap=True, markup=False).print(f"tessera: {escape_control(sentence)}")


def with_options(sentence: str) -> str:
    """Return the sentence with the command's options in place of the API's fields, which the page and programs know."""
    return re.sub("`(mpp|optical_path|focal_plane|picture)`", lambda field: "--" + field[1].replace("_", "-"), sentence)


def is_watched() -> bool:
    """Return whether somebody sees a bar while it moves: stderr is a terminal, or this is a notebook."""
    console = Console(stderr=True)
    return console.is_terminal or console.is_jupyter


def choose_console() -> Console:
    """Return where bars are drawn: stderr. Rich draws in a notebook by ipywidgets alone, and warns without them; a bar
    of one line needs no more than a notebook's output understands of a terminal."""
    console = Console(stderr=True)
    if console.is_jupyter and find_spec("ipywidgets") is None:
        return Console(stderr=True, force_jupyter=False, force_terminal=True)
    return console


class TilesBar:
    """One line for the slide that runs: tiles done, tiles a second, time left."""

    def __init__(self, *, transient: bool = False, shown: bool = True) -> None:
        """Make the bar. With `transient` its line is removed at the end, and not drawn into a file at all; without
        `shown` nothing is drawn."""
        console = choose_console()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=transient,
            disable=not shown or (transient and not console.is_terminal),
        )
        self._task: TaskID | None = None
        self._since = 0.0
        self._done = 0
        self._wait = ""

    def __enter__(self) -> TilesBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, name: str) -> Callable[[int], None]:
        """Begin a line for the next slide in place of the last one's, whose outcome is in the table. The function
        returned takes the number of tiles of the slide."""
        for old in self._bar.task_ids:
            self._bar.remove_task(old)
        task = self._task = self._bar.add_task(escape_text(name), total=None, rate="")
        self._since, self._done = time.monotonic(), 0
        return lambda tiles: self._bar.update(task, total=tiles, completed=0, rate="")

    def show_copied(self, done: int, total: int) -> None:
        """Show the MiB that are copied, until the slide's tiles are known."""
        if self._task is not None:
            self._bar.update(self._task, completed=done >> 20, total=total >> 20, rate="MiB copied")

    def advance(self, tiles: int) -> None:
        self._done += tiles
        self.show(self._done, rate=self._done / max(time.monotonic() - self._since, 1e-3))

    def show(self, done: int, *, rate: float | None) -> None:
        if done:
            self._wait = ""
        if self._task is not None:
            self._bar.update(self._task, completed=done, rate=f"{rate:,.0f} tiles/s" if rate else self._wait)

    def show_wait(self, text: str) -> None:
        """Show what the slide waits for in place of its rate, until tiles are done or the next text is empty."""
        self._wait = text
        if self._task is not None and text:
            self._bar.update(self._task, rate=text)


class SpeedColumn(TransferSpeedColumn):
    """Bytes a second; nothing while they are not known, where rich prints a question mark."""

    def render(self, task: Task) -> Text:
        return super().render(task) if task.finished_speed or task.speed else Text()


def make_bytes_bar(*, shown: bool = True) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        SpeedColumn(),
        TimeRemainingColumn(),
        console=choose_console(),
        disable=not shown,
    )


@contextmanager
def open_copy_bar(*, shown: bool = True) -> Generator[Callable[[int, int], None]]:
    """Yield a function that takes (bytes done, of) of a slide that is copied, and draws a bar. Nothing is drawn until
    it is called."""
    bar = make_bytes_bar(shown=shown)
    task = bar.add_task("copy", total=None)

    def on_copy(done: int, total: int) -> None:
        bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield on_copy
    finally:
        if bar.live.is_started:
            bar.stop()


@contextmanager
def open_slides_bar(total: int) -> Generator[Callable[[str], None]]:
    """Yield a function that takes the name of each slide as it begins, and draw a bar that is removed at the end."""
    console = choose_console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)
        begun = 0

        def begin_slide(name: str) -> None:
            nonlocal begun
            bar.update(task, description=escape_text(name), completed=begun)
            begun += 1

        yield begin_slide
