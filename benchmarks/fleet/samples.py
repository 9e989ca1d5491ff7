"""The state of the fleet in a simulated minute."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FleetSample:
    """The GPU nodes and the shards at one time."""

    at: float  #: s since midnight
    spot: int  #: nodes
    on_demand: int
    running: int  #: shards
    waiting: int  #: shards
