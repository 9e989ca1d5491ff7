"""What a run prints: the table, each step with its time, and a verdict that nothing missing survives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.table import Table

from cdk.emulated import Row

Note = Callable[[str], None]


class Report:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()
        self.missing: list[str] = []

    def table(self, rows: Iterable[tuple[str, Row]]) -> None:
        """(noun of the stack, row)."""
        table = Table(title="What MiniStack can not do, and what stands in for it", title_justify="left")
        for column in ("stack", "type", "n", "what", "instead", "why"):
            table.add_column(column, overflow="fold")
        for noun, row in rows:
            table.add_row(noun, row.type, str(row.count), row.action, row.instead, row.why)
        self._console.print(table)

    @contextmanager
    def step(self, what: str) -> Iterator[Note]:
        """Prints the step with its time once it is done; the note says what came of it."""
        notes: list[str] = []
        began = time.monotonic()
        yield notes.append
        self._line(time.monotonic() - began, what, "; ".join(notes))

    def check(self, what: str, holds: bool, otherwise: str = "") -> None:
        """One line of the verdict."""
        if holds:
            self._console.print(f"    ok     {what}")
        else:
            self.missing.append(what)
            self._console.print(f"    MISSING  {what}{f': {otherwise}' if otherwise else ''}")

    def timeline(self, moves: Iterable[tuple[str, float]]) -> None:
        """(state, seconds since the first)."""
        for state, seconds in moves:
            self._console.print(f"             {seconds:6.2f} s  {state}")

    def verdict(self) -> bool:
        seconds = time.monotonic() - self._began
        if self.missing:
            self._console.print(f"{len(self.missing)} missing after {seconds:.0f} s: {'; '.join(self.missing)}")
        else:
            self._console.print(f"Everything was deployed and gone through, in {seconds:.0f} s.")
        return not self.missing

    def _line(self, seconds: float, what: str, note: str) -> None:
        self._console.print(f"{seconds:7.2f} s  {what}{f': {note}' if note else ''}")
