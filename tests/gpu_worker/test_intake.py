from __future__ import annotations

from collections import Counter

from gpu_worker.intake import LOW_FIRST_EVERY, poll_order


def test_polls_go_high_normal_low():
    assert poll_order(0) == ("shards-high", "shards-normal", "shards-low")


def test_low_comes_first_once_in_eight_polls():
    first = Counter(poll_order(turn)[0] for turn in range(10 * LOW_FIRST_EVERY))
    assert first == {"shards-high": 70, "shards-low": 10}


def test_every_poll_asks_all_queues():
    assert all(len(set(poll_order(turn))) == 3 for turn in range(LOW_FIRST_EVERY))
