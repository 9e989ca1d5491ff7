"""The tables of docs/explanation/fleet.md, printed in Markdown, and its drawing."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from benchmarks.fleet.drawing import draw_days
from benchmarks.fleet.outcome import FleetOutcome
from benchmarks.fleet.scenarios import AS_DEPLOYED, RAISED, WHAT_IFS, FleetDay, count_days, simulate_days
from benchmarks.fleet.tables import (
    CONSTANT_HEADER,
    HEADER,
    format_table,
    list_constant_rows,
    list_use_rows,
    make_outcome_row,
)
from tessera.progress import choose_console

DRAWN_LEAST = 1_000  #: slides of a day that is drawn: fewer make no curve


def simulate_all(days: Iterable[FleetDay], bar: Progress) -> dict[str, FleetOutcome]:
    """Return the outcome of each day by its name."""
    found: dict[str, FleetOutcome] = {}
    for day in days:
        task = bar.add_task(day.name, total=day.slides * count_days(day))
        found[day.name] = simulate_days(day, on_progress=lambda done, task=task: bar.update(task, completed=done))
        bar.update(task, completed=day.slides * count_days(day))
    return found


def print_outcomes(title: str, found: dict[str, FleetOutcome]) -> None:
    rows = [make_outcome_row(name, outcome) for name, outcome in found.items()]
    print(f"\n## {title}\n\n{format_table(HEADER, rows)}")


def print_uses(found: dict[str, FleetOutcome]) -> None:
    print(f"\n## Resources in the busiest hour\n\n{format_table(('resource', *found), list_use_rows(found))}")


def print_constants() -> None:
    print(f"\n## Constants\n\n{format_table(CONSTANT_HEADER, list_constant_rows())}")


def main(arguments: Sequence[str] | None = None) -> None:
    given = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    given.add_argument("--most", type=int, default=100_000, metavar="SLIDES", help="leave out days of more slides")
    given.add_argument("--drawing", type=Path, metavar="FILE", help="write the days of 1,000 slides and more as SVG")
    options = given.parse_args(arguments)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=choose_console()) as bar:
        loads = simulate_all((day for day in AS_DEPLOYED if day.slides <= options.most), bar)
        what_ifs = simulate_all((day for day in WHAT_IFS if day.slides <= options.most), bar)
    print_outcomes("As deployed", loads)
    print_uses(loads)
    if what_ifs:
        print_outcomes("What if", what_ifs)
    print_constants()
    if options.drawing is not None:
        drawn = {name: outcome for name, outcome in loads.items() if outcome.slides >= DRAWN_LEAST}
        drawn |= {name: outcome for name, outcome in what_ifs.items() if name == RAISED.name}
        options.drawing.write_text(
            draw_days({f"Slides a day: {name}": outcome.samples for name, outcome in drawn.items()})
        )


if __name__ == "__main__":
    main()
