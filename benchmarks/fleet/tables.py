"""The tables of docs/explanation/fleet.md, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.fleet.arrivals import compute_peak_factor
from benchmarks.fleet.constants import CONSTANTS
from benchmarks.fleet.costs import compute_slide_cost
from benchmarks.fleet.outcome import FleetOutcome, find_percentile

HEADER = (
    *("slides a day", "result p50 / p95 / p99, min", "last result, h", "GPU nodes, most / mean"),
    *(
        "GPU s a slide: work / idle / warm",
        "$ a slide: GPU work / GPU idle / functions",
        "$ a slide, whole bill",
        "busiest",
    ),
)


CONSTANT_HEADER = ("constant", "value", "source")


def make_outcome_row(name: str, outcome: FleetOutcome) -> tuple[str, ...]:
    """Return the row of one day."""
    cost, slides = compute_slide_cost(outcome), outcome.slides
    times = " / ".join(f"{find_percentile(outcome.seconds, percent) / 60:.1f}" for percent in (50, 95, 99))
    gpu = " / ".join(
        f"{seconds / slides:.0f}" for seconds in (outcome.work_seconds, outcome.idle_seconds, outcome.warm_seconds)
    )
    busiest = outcome.bottleneck
    return (
        name,
        times,
        f"{outcome.last / 3600:.1f}",
        f"{outcome.most_nodes:,} / {outcome.mean_nodes:,.1f}",
        gpu,
        f"{cost.work:.3f} / {cost.idle:.3f} / {cost.functions:.4f}",
        f"{cost.whole_bill:.2f}",
        f"{busiest.name}, {busiest.share:.0%}",
    )


def list_use_rows(outcomes: Mapping[str, FleetOutcome]) -> list[tuple[str, ...]]:
    """Return a row for each resource: its share in the busiest hour, and its limit, at each load."""
    names = [use.name for use in next(iter(outcomes.values())).uses]
    uses = {name: {use.name: use for use in outcome.uses} for name, outcome in outcomes.items()}
    return [
        (name, *(f"{by_name[name].share:.0%} of {by_name[name].limit:,}" for by_name in uses.values()))
        for name in names
    ]


def list_constant_rows() -> list[tuple[str, ...]]:
    """Return a row for each constant."""
    return [(name, constant.describe(), constant.source) for name, constant in CONSTANTS.items()]


def describe_arrivals(name: str, arrivals: Sequence[float]) -> str:
    """Return a sentence about the busiest hour of a day."""
    return f"{name}: the busiest hour has {compute_peak_factor(arrivals):.1f} times the slides of the mean one"


def format_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = (header, ("---",) * len(header), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
