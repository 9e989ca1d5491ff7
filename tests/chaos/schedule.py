"""A plan of faults over time: frozen values, drawn from a seed before the run begins."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """One fault of the plan."""

    at: float  #: s after the beginning
    fault: str  #: its name in `faults.FAULTS`
    draw: int  #: what the fault's own choices come from

    def __str__(self) -> str:
        return f"{self.at:7.1f} s  {self.fault}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    seed: int
    seconds: float
    planned: tuple[Planned, ...]

    def __str__(self) -> str:
        return "\n".join([f"seed {self.seed}, {self.seconds:g} s", *map(str, self.planned)])


def make_schedule(seed: int, seconds: float, weights: Mapping[str, int], *, pause: float) -> Schedule:
    """Every fault comes once, in any order, before any comes again; then by weight. One about every `pause` seconds."""
    chance = random.Random(seed)
    names = sorted(weights)
    first = chance.sample(names, len(names))
    planned: list[Planned] = []
    at = chance.uniform(0, pause)
    while at < seconds:
        name = first.pop() if first else chance.choices(names, [weights[one] for one in names])[0]
        planned.append(Planned(at=round(at, 1), fault=name, draw=chance.getrandbits(32)))
        at += chance.uniform(0.4, 1.6) * pause
    return Schedule(seed=seed, seconds=seconds, planned=tuple(planned))


def plan_again(names: Sequence[str], *, seconds: float, pause: float) -> Schedule:
    """The same faults in turn, without chance: for a test of the harness that asks for certain ones."""
    times = [pause * place for place in range(int(seconds / pause))]
    return Schedule(
        seed=0,
        seconds=seconds,
        planned=tuple(Planned(at=at, fault=names[place % len(names)], draw=place) for place, at in enumerate(times)),
    )
