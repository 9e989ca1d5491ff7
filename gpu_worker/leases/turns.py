"""The turns of the shard queues: which one a poll begins with.

Each queue begins as many polls of a cycle as its weight says, spread evenly, whatever the other queues hold. So urgent
work goes first most of the time, and none waits for the end of a stream of more urgent work (docs/decisions/0121).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wsi.records.jobs import Priority
from wsi.records.notices import SHARD_QUEUES

#: Polls of a cycle that begin with a priority's queue. Where all queues are full, these are their shares of the shards.
WEIGHTS: Mapping[Priority, int] = MappingProxyType({Priority.HIGH: 4, Priority.NORMAL: 2, Priority.LOW: 1})


def spread_turns(weights: Mapping[Priority, int]) -> tuple[Priority, ...]:
    """Return one cycle of turns by smooth weighted round robin: at each turn every priority gains its weight, and the
    first of those that have gained most takes the turn and pays the sum of all weights for it."""
    total = sum(weights.values())
    gained = dict.fromkeys(weights, 0)
    turns: list[Priority] = []
    for _ in range(total):
        for priority, weight in weights.items():
            gained[priority] += weight
        chosen = max(gained, key=lambda priority: gained[priority])
        gained[chosen] -= total
        turns.append(chosen)
    return tuple(turns)


_CYCLE = spread_turns(WEIGHTS)


def order_priorities(turn: int) -> tuple[Priority, ...]:
    """Return the priorities in the order of poll number `turn`, which counts from 0: the one whose turn it is, then the
    others by urgency."""
    first = _CYCLE[turn % len(_CYCLE)]
    return (first, *(other for other in Priority if other is not first))


def order_queues(turn: int) -> tuple[str, ...]:
    """Return the shard queues in the order of poll number `turn`."""
    return tuple(SHARD_QUEUES[priority] for priority in order_priorities(turn))
