"""The tables of docs/explanation/scaling.md, printed in Markdown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.keda_scaling.model import SimulationOutcome
from benchmarks.keda_scaling.scenarios import (
    ALTERNATIVES,
    BURSTS,
    CHOSEN,
    OTHER_DAYS,
    SEEDS,
    WARM_BURSTS,
    WRONG,
    Day,
    Settings,
    simulate_day,
)

ROWS = (CHOSEN, *ALTERNATIVES, *WRONG)
LENGTHS = (CHOSEN, *(other for other in ALTERNATIVES if other.scaled_job != CHOSEN.scaled_job))
SHARD_SECONDS = (20, 60, 180)


@dataclass(frozen=True, slots=True)
class Summary:
    """The outcomes of a day over all seeds. Times are in minutes."""

    pods: float
    useless: float
    p95: float
    latest: float
    idle: float
    cost: float

    @classmethod
    def of(cls, outcomes: Sequence[SimulationOutcome]) -> Summary:
        completion = sorted(seconds for outcome in outcomes for seconds in outcome.completion)
        return cls(
            pods=statistics.mean(outcome.pods for outcome in outcomes),
            useless=statistics.mean(outcome.useless for outcome in outcomes),
            p95=completion[math.ceil(0.95 * len(completion)) - 1] / 60,
            latest=completion[-1] / 60,
            idle=statistics.mean(outcome.gpu_seconds - outcome.work_seconds for outcome in outcomes) / 60,
            cost=statistics.mean(outcome.gpu_seconds for outcome in outcomes) / 60,
        )


def print_bursts(title: str, days: Sequence[Day]) -> None:
    print(f"\n{title}: bursts of {' / '.join(day.name for day in days)} shards\n")
    print_header("settings", "pods", "useless pods", "p95, min", "last, min", "idle GPU min", "GPU min")
    for settings in ROWS:
        found = [Summary.of(simulate_day(settings, day)) for day in days]
        print_row(
            settings.name,
            *(
                " / ".join(f"{getattr(one, column):.{digits}f}" for one in found)
                for column, digits in (("pods", 0), ("useless", 1), ("p95", 1), ("latest", 1), ("idle", 0), ("cost", 0))
            ),
        )


def print_other_days(days: Sequence[Day]) -> None:
    print("\nuseless pods / p95 in min / idle GPU min\n")
    print_header("settings", *(day.name for day in days))
    for settings in ROWS:
        found = [Summary.of(simulate_day(settings, day)) for day in days]
        print_row(settings.name, *(f"{one.useless:.1f} / {one.p95:.1f} / {one.idle:.0f}" for one in found))


def print_lengths(rows: Sequence[Settings], shard_seconds: Sequence[int]) -> None:
    print("\na burst of 20 shards of 20 s, 60 s or 180 s each: p95 in min / GPU min\n")
    print_header("settings", *(f"{seconds} s" for seconds in shard_seconds))
    for settings in rows:
        days = [
            Day(name="", arrivals=((0.0, "normal", 20),), work=(0.75 * seconds, 1.25 * seconds))
            for seconds in shard_seconds
        ]
        found = [Summary.of(simulate_day(settings, day)) for day in days]
        print_row(settings.name, *(f"{one.p95:.1f} / {one.cost:.0f}" for one in found))


def print_header(*cells: str) -> None:
    print_row(*cells)
    print_row(*("---" for _ in cells))


def print_row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |")


def main() -> None:
    print(f"Means of {len(SEEDS)} runs with other boot times, shards and counts; p95 and last over all their shards.")
    print_bursts("No node is up", BURSTS)
    print_bursts("One warm node", WARM_BURSTS)
    print_other_days(OTHER_DAYS)
    print_lengths(LENGTHS, SHARD_SECONDS)


if __name__ == "__main__":
    main()
