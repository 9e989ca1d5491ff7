"""Calls that wait for the network, in parallel."""

from __future__ import annotations

import threading

import pytest

from wsi.concurrency import AHEAD, iterate_concurrently


def test_results_come_in_order_while_few_wait() -> None:
    begun: list[int] = []
    taken = 0
    lock = threading.Lock()

    def call(item: int) -> int:
        with lock:
            begun.append(item)
            assert len(begun) - taken <= AHEAD + 2
        return -item

    for item, result in enumerate(iterate_concurrently(call, range(50))):
        assert result == -item
        taken += 1
    assert sorted(begun) == list(range(50))


def test_a_caller_of_large_results_has_fewer_of_them_wait() -> None:
    begun: list[int] = []
    results = iterate_concurrently(begun.append, range(100), ahead=1)
    next(results)
    results.close()
    assert len(begun) <= 1 + 2


def test_calls_run_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=30)
    assert list(iterate_concurrently(lambda _: both.wait() >= 0, range(2))) == [True, True]


def test_an_error_comes_at_its_place_and_later_items_are_not_begun() -> None:
    begun: list[int] = []

    def call(item: int) -> int:
        begun.append(item)
        if item == 3:
            raise KeyError(item)
        return item

    results = iterate_concurrently(call, range(1000))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError):
        next(results)
    assert len(begun) <= 3 + AHEAD + 2


def test_a_caller_that_stops_begins_no_further_calls() -> None:
    begun: list[int] = []
    results = iterate_concurrently(begun.append, range(1000))
    next(results)
    results.close()
    assert len(begun) <= AHEAD + 2
