"""A pattern as the stack ran it beside the same pattern as it is simulated."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from benchmarks.fleet.check.fitting import FittedConstants
from benchmarks.fleet.check.patterns import MeasuredRun
from benchmarks.fleet.outcome import find_percentile
from benchmarks.fleet.platform import SimulatedPlatform
from benchmarks.fleet.slides import SimulatedSlide

SEEDS = range(30)


@dataclass(frozen=True, slots=True)
class Compared:
    """One quantity in s."""

    name: str
    measured: float
    simulated: float

    @property
    def difference(self) -> float:
        """Simulated over measured, less 1."""
        return self.simulated / self.measured - 1


@dataclass(frozen=True, slots=True)
class PatternTimes:
    """Seconds of a pattern."""

    seconds: Sequence[float]  #: to the result, of each slide, sorted
    makespan: float


def simulate_pattern(
    constants: FittedConstants, arrivals: Sequence[float], tiles: int, *, workers: int, seed: int
) -> PatternTimes:
    """Run the pattern on the simulated stack."""
    source = random.Random(f"{seed}/registering")
    platform = SimulatedPlatform(constants.make_terms(workers), seed=seed)
    uploads = sorted(at + constants.registering.draw(source) for at in arrivals)
    platform.run([SimulatedSlide(number=place, uploaded=at, tiles=tiles) for place, at in enumerate(uploads)])
    ends = [slide.done for slide in platform.slides if slide.done is not None]
    return PatternTimes(sorted(slide.seconds for slide in platform.slides), max(ends) - uploads[0])


def compare_pattern(
    run: MeasuredRun, constants: FittedConstants, arrivals: Sequence[float], tiles: int, *, workers: int
) -> list[Compared]:
    """Return what the run measured beside the mean of simulations."""
    found = [simulate_pattern(constants, arrivals, tiles, workers=workers, seed=seed) for seed in SEEDS]
    return [
        Compared(
            "time to result, p50",
            find_percentile(run.seconds, 50),
            mean(find_percentile(one.seconds, 50) for one in found),
        ),
        Compared(
            "time to result, p95",
            find_percentile(run.seconds, 95),
            mean(find_percentile(one.seconds, 95) for one in found),
        ),
        Compared("all results", run.makespan, mean(one.makespan for one in found)),
    ]
