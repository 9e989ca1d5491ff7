from __future__ import annotations

import threading
import time

import pytest

from gpu_worker.flow import Flow


def counting(seen: list[int], end: int = 10_000):
    for number in range(end):
        seen.append(number)
        yield number


def test_items_come_out_whole_and_in_order():
    with Flow() as flow:
        doubled = flow.through("double", (2 * n for n in flow.through("count", iter(range(500)), 4)), 4)
        assert list(doubled) == [2 * n for n in range(500)]
        flow.raise_error()


def test_a_producer_is_at_most_its_capacity_ahead():
    seen: list[int] = []
    with Flow() as flow:
        channel = iter(flow.through("count", counting(seen), 3))
        next(channel)
        time.sleep(0.2)
        assert len(seen) <= 1 + 3 + 1  # taken, queued, in the producer's hand


def test_an_error_halts_all_stages_at_once():
    seen: list[int] = []

    def failing(items):
        for number in items:
            if number == 5:
                raise KeyError("broken")
            yield number

    with Flow() as flow:
        last = flow.through("fail", failing(flow.through("count", counting(seen), 2)), 100)
        began = time.monotonic()
        list(last)
        with pytest.raises(KeyError):
            flow.raise_error()
    assert time.monotonic() - began < 2
    assert len(seen) < 20


def test_leaving_early_ends_the_threads():
    with Flow() as flow:
        next(iter(flow.through("early", counting([]), 1)))
    assert "early" not in {thread.name for thread in threading.enumerate()}


def test_stop_makes_a_channel_run_dry_and_leaves_the_others():
    stop = threading.Event()
    with Flow() as flow:
        first = flow.through("first", counting([]), 1, stop=stop)
        second = flow.through("second", (n for n in first), 1)
        channel = iter(second)
        next(channel)
        stop.set()
        list(channel)  # ends: what was on its way comes, no more is made
        flow.raise_error()


def test_stop_reaches_a_stage_that_waits_for_a_stalled_one():
    stop, stalled = threading.Event(), threading.Event()

    def stalls():
        stalled.wait(20)
        yield 1

    with Flow() as flow:
        second = flow.through("second", (n for n in flow.through("stalls", stalls(), 1, stop=stop)), 1)
        stop.set()
        began = time.monotonic()
        assert list(second) == []
        assert time.monotonic() - began < 1
        stalled.set()


def test_a_generator_is_closed_when_nobody_wants_its_items():
    closed = threading.Event()

    def guarded():
        try:
            yield from range(1000)
        finally:
            closed.set()

    with Flow() as flow:
        next(iter(flow.through("guarded", guarded(), 1)))
    assert closed.is_set()
