"""`make drill`: lose an installation on this machine, with all of its data, and restore it."""

from __future__ import annotations

import io
import logging
import signal
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from local import daemon
from local.drill.rehearsal import STEPS, Drill, run_drill
from local.drill.work import DrillFailed
from local.sample_slide import fetch_sample_slide

Slides = Annotated[list[Path] | None, typer.Argument(metavar="[SLIDE…]", help="Slides to lose; by default the demo's.")]


def main(slides: Slides = None) -> None:
    """Start a stack, analyse slides, back it up, destroy it, restore it next to buckets of other names, and compare."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    logging.disable(logging.INFO)  # each request of the API would be a line
    for number in (signal.SIGTERM, signal.SIGHUP):  # it stops what it started, as after Ctrl-C
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    try:
        with tempfile.TemporaryDirectory(prefix="tessera-drill-") as folder, _make_progress(console) as progress:
            chosen = slides or [fetch_sample_slide(daemon.FOLDER / "cache")]
            bar = progress.add_task("", total=len(STEPS))

            def show(step: str, seconds: float | None) -> None:
                progress.update(bar, description=step, advance=0 if seconds is None else 1)

            drill = Drill(on_step=show)
            with redirect_stdout(io.StringIO()):  # functions print their metrics
                run_drill(Path(folder), chosen, drill)
    except (DrillFailed, RuntimeError) as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"tessera: {error}")
        raise typer.Exit(1) from error
    console.print(make_step_table(drill))
    console.print(make_count_table(drill))
    console.print(
        f"{drill.objects} objects, {drill.copied_bytes / 1e6:.1f} MB copied; {drill.recovered.counts['etags_changed']}"
        f" ETags changed; {drill.finished} live jobs ended with the results of a calm one; restored in"
        f" {drill.restore_seconds:.1f} s"
    )


def _make_progress(console: Console) -> Progress:
    return Progress(
        BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"), console=console
    )


def make_step_table(drill: Drill) -> Table:
    table = Table("step", "s")
    table.columns[1].justify = "right"
    for name, seconds in drill.seconds.items():
        table.add_row(name, f"{seconds:.1f}")
    return table


def make_count_table(drill: Drill) -> Table:
    """Return the records before the loss and after the recovery."""
    table = Table("records", "before the loss", "after the recovery")
    for name in drill.before:
        table.add_row(name.replace("_", " "), _describe(drill.before[name]), _describe(drill.after[name]))
    return table


def _describe(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{count} {state}" for state, count in value.items()) or "none"
    return value[:16] if isinstance(value, str) else f"{value:,}"


if __name__ == "__main__":
    typer.run(main)
