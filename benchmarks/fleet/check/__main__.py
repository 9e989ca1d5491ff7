"""Fit the simulation's constants on one pattern of arrivals at an embedded stack, and compare it on another.

`python -m benchmarks.fleet.check` takes three to four minutes and exits with 1 if a quantity differs by more than 20 %.
The patterns run one after the other on one stack: steady arrivals, bursts, and steady arrivals again. Constants are
fitted on the first and the last run, so that a load of the machine that grows or ends is in them as it is in between.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
import tempfile
from pathlib import Path
from statistics import mean

from benchmarks.fleet.check.comparison import Compared, compare_pattern
from benchmarks.fleet.check.fitting import FittedConstants, derive_constants
from benchmarks.fleet.check.patterns import MeasuredRun, make_bursts, make_steady, run_pattern
from benchmarks.fleet.check.timed_stack import TimedStack, run_timed_stack
from benchmarks.fleet.tables import format_table
from local.options import SHARED, StackOptions
from tests.slides import write_svs

LIMIT = 0.2
ACROSS, DOWN, TILE = 60, 40, 256  #: a slide that is all tissue
SHARD_TILES = 600
WORKERS = 1
#: Share of its time that the busiest part works: enough that slides wait, and not so much that all queue up.
UTILISATION = 0.8
PATTERN_SECONDS = 45.0
LEAST_SLIDES, MOST_SLIDES = 10, 20


def write_slide(folder: Path) -> Path:
    """Write the slide that all arrivals register."""
    width, height = ACROSS * TILE, DOWN * TILE
    tissue = (0, 0, width, height)
    return write_svs(
        folder / "slide.svs", width=width, height=height, levels=(1, 4, 16), tissue=tissue, quality=30, tile=TILE
    )


def measure(folder: Path) -> tuple[list[MeasuredRun], list[list[float]]]:
    """Run the three patterns; return what was measured, and the arrivals of each."""
    options = StackOptions(
        workers=WORKERS,
        durable=False,
        shard_tiles=SHARD_TILES,
        schedule_seconds=3_600.0,
        worker={"decode_workers": 1},
    )
    slide = write_slide(folder)
    with run_timed_stack(folder / "stack", options) as timed:
        timed.stack.clients.s3.upload_file(str(slide), SHARED, slide.name)
        uri = f"s3://{SHARED}/{slide.name}"
        run_pattern(timed, uri, [0.0])  # imports, the model, and connections
        seconds = measure_slide(timed, uri)
        count = 5 * round(min(MOST_SLIDES, max(LEAST_SLIDES, PATTERN_SECONDS * UTILISATION / seconds)) / 5)
        apart = seconds / UTILISATION
        patterns = [make_steady(count, apart), make_bursts(count, apart), make_steady(count, apart)]
        return [run_pattern(timed, uri, pattern) for pattern in patterns], patterns


def measure_slide(timed: TimedStack, uri: str) -> float:
    """Return the s that the busiest part works for a slide while several are under way."""
    found = derive_constants([run_pattern(timed, uri, [0.0] * 3)])
    shards = ACROSS * DOWN / SHARD_TILES
    return max(mean(found.inspect.values), mean(found.plan.values), mean(found.stitch.values), found.shard * shards)


def print_report(
    runs: list[MeasuredRun], constants: FittedConstants, found: list[Compared], again: list[Compared]
) -> None:
    loads = ", ".join(f"{run.load:.1f}" for run in runs)
    print(f"{os.cpu_count()} cores; load after steady arrivals, bursts, steady arrivals: {loads}")
    before, after = (derive_constants([run]).shard for run in (runs[0], runs[2]))
    print(f"a shard took {before:.3f} s before the bursts and {after:.3f} s after: if they differ, run it again")
    print(f"{len(runs[0].clients)} slides of {ACROSS * DOWN:,} tiles in shards of {SHARD_TILES}, {WORKERS} worker\n")
    print(format_table(("fitted on steady arrivals", "s"), constants.list_rows()))
    for title, rows in (("bursts", found), ("steady arrivals, which the constants are of", again)):
        cells = [(one.name, f"{one.measured:.2f}", f"{one.simulated:.2f}", f"{one.difference:+.0%}") for one in rows]
        print(f"\n{format_table((title, 'measured, s', 'simulated, s', 'difference'), cells)}")


def main() -> None:
    argparse.ArgumentParser(prog="python -m benchmarks.fleet.check", description=__doc__).parse_args()
    logging.disable(logging.WARNING)  # each call of each function says something
    with tempfile.TemporaryDirectory(prefix="fleet-check-") as folder, contextlib.redirect_stdout(sys.stderr):
        runs, patterns = measure(Path(folder))
    constants = derive_constants([runs[0], runs[2]])
    found, again = (
        compare_pattern(runs[place], constants, patterns[place], ACROSS * DOWN, workers=WORKERS) for place in (1, 0)
    )
    print_report(runs, constants, found, again)
    if any(abs(one.difference) > LIMIT for one in found):
        print(f"\nA quantity differs by more than {LIMIT:.0%}.")
        sys.exit(1)


if __name__ == "__main__":
    main()
