"""Every queue's turn comes: by arithmetic, and with workers that poll queues that are never empty."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gpu_worker.leases.turns import WEIGHTS, order_queues, spread_turns
from wsi.records.jobs import Priority
from wsi.records.notices import SHARD_QUEUES

CYCLE = sum(WEIGHTS.values())


def test_a_poll_asks_the_queue_whose_turn_it_is_and_then_the_others_by_urgency():
    assert order_queues(0) == ("shards-high", "shards-normal", "shards-low")
    assert order_queues(1) == ("shards-normal", "shards-high", "shards-low")
    assert all(sorted(order_queues(turn)) == sorted(SHARD_QUEUES.values()) for turn in range(CYCLE))


def test_with_all_queues_full_each_is_polled_first_as_its_weight_says():
    """800 rounds as in the report, in which `normal` was first in none."""
    first = Counter(order_queues(turn)[0] for turn in range(800))
    for priority, weight in WEIGHTS.items():
        assert abs(first[SHARD_QUEUES[priority]] - 800 * weight / CYCLE) <= 1, first


@given(
    weights=st.fixed_dictionaries({priority: st.integers(1, 12) for priority in Priority}),
    begin=st.integers(0, 100),
)
def test_whatever_the_weights_each_priority_is_first_within_a_cycle(weights, begin):
    """So a shard waits for as many rounds at most, whatever is full beside it."""
    cycle = spread_turns(weights)
    rounds = [cycle[(begin + n) % len(cycle)] for n in range(sum(weights.values()))]
    assert Counter(rounds) == weights
    for priority, weight in weights.items():
        turns = [n for n, chosen in enumerate(cycle + cycle) if chosen is priority]
        longest = max(after - before for before, after in pairwise(turns))
        assert longest <= 2 * len(cycle) / weight, "its turns are spread"


@given(st.lists(st.integers(0, 40), min_size=3, max_size=3), st.integers(1, 4))
def test_simulated_workers_starve_no_queue_and_are_never_idle(backlogs, workers):
    """Each worker takes a shard a round until nothing is left; `high` grows as fast as it is served."""
    left = dict(zip(SHARD_QUEUES.values(), backlogs, strict=True))
    taken: Counter[str] = Counter()
    rounds = 0
    while left["shards-normal"] or left["shards-low"]:
        for _ in range(workers):
            left["shards-high"] = max(left["shards-high"], 1)
            queue = next(name for name in order_queues(rounds) if left[name])
            left[queue] -= 1
            taken[queue] += 1
        rounds += 1
    others = taken["shards-normal"] + taken["shards-low"]
    assert taken["shards-low"] == backlogs[2]
    assert taken["shards-normal"] == backlogs[1]
    assert rounds <= CYCLE * max(1, -(-others // workers)) + CYCLE
