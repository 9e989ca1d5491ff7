"""The printed report: the table, each step with its time, and a verdict that fails if anything is missing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from rich.console import Console

from cdk.emulated import Row

Note = Callable[[str], None]


class Report:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()
        self.missing: list[str] = []

    def print_table(self, rows: Iterable[Row]) -> None:
        """Print the rows of all stacks; equal rows are counted together."""
        counts: Counter[Row] = Counter()
        for row in rows:
            counts[replace(row, count=0)] += row.count
        self._print("What MiniStack cannot do as AWS does, and what stands in for it:")
        for row, count in sorted(counts.items(), key=lambda found: (found[0].action, found[0])):
            self._print(
                f"{count:7}  {row.action:9}  {row.type}{f' -> {row.instead}' if row.instead else ''} ({row.why})"
            )

    @contextmanager
    def step(self, what: str) -> Iterator[Note]:
        """Print the step with its time once it is done. The yielded function adds a note on what came of it."""
        notes: list[str] = []
        began = time.monotonic()
        yield notes.append
        self._print(": ".join([f"{time.monotonic() - began:7.2f} s  {what}", *notes]))

    def check(self, what: str, holds: bool, otherwise: str = "") -> None:
        """Print one line of the verdict. Unless it `holds`, it counts as missing."""
        if holds:
            self._print(f"       ok  {what}")
        else:
            self.missing.append(what)
            self._print(f"  MISSING  {what}{f': {otherwise}' if otherwise else ''}")

    def print_timeline(self, moves: Iterable[tuple[str, float]]) -> None:
        """Print each (state, seconds since the first)."""
        for state, seconds in moves:
            self._print(f"           {seconds:6.2f} s  {state}")

    def print_verdict(self) -> bool:
        seconds = time.monotonic() - self._began
        if self.missing:
            self._print(f"{len(self.missing)} missing after {seconds:.0f} s: {'; '.join(self.missing)}")
        else:
            self._print(f"Everything was deployed and gone through in {seconds:.0f} s.")
        return not self.missing

    def _print(self, line: str) -> None:
        """Print the line as it is: no markup, no highlighting, no wrapping."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)
