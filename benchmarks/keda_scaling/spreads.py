"""Numbers that differ each time."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Protocol

#: Standard deviations from the median to the p90 of a normal distribution.
_P90_DEVIATIONS = 1.2816


class Spread(Protocol):
    """A distribution."""

    def draw(self, source: random.Random) -> float:
        """Draw a number."""
        ...


@dataclass(frozen=True, slots=True)
class Between:
    """Any number between both, equally likely."""

    least: float
    most: float

    def draw(self, source: random.Random) -> float:
        return source.uniform(self.least, self.most)


@dataclass(frozen=True, slots=True)
class Mostly:
    """One number, and for a share of the draws another."""

    usual: float
    rare: float
    share: float

    def draw(self, source: random.Random) -> float:
        return self.rare if source.random() < self.share else self.usual


@dataclass(frozen=True, slots=True)
class Skewed:
    """A lognormal distribution, stated by the percentiles that reports of durations have."""

    p50: float
    p90: float

    def draw(self, source: random.Random) -> float:
        return self.p50 * math.exp(source.gauss(0, 1) * math.log(self.p90 / self.p50) / _P90_DEVIATIONS)


@dataclass(frozen=True, slots=True)
class Seen:
    """One of the numbers that were measured, each as likely as another."""

    values: tuple[float, ...]

    def draw(self, source: random.Random) -> float:
        return source.choice(self.values)
