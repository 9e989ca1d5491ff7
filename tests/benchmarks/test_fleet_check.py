"""The check of the simulation's small end: constants come out of a run as they went in."""

from __future__ import annotations

import pytest

from benchmarks.fleet.check.comparison import Compared, compare_pattern, simulate_pattern
from benchmarks.fleet.check.fitting import FittedConstants, derive_constants
from benchmarks.fleet.check.patterns import ClientTimes, MeasuredRun, MeasuredShard, make_bursts, make_steady
from benchmarks.fleet.check.timed_stack import TimedCall
from benchmarks.keda_scaling.spreads import Seen

CONSTANTS = FittedConstants(
    registering=Seen((0.1,)),
    submitting=Seen((0.2,)),
    inspect=Seen((1.0,)),
    plan=Seen((0.3,)),
    stitch=Seen((0.5,)),
    relay=0.02,
    hand_over=0.05,
    shard=0.8,
    tiles=600,
    first=0.4,
)
TILES = 2_400


def make_run() -> MeasuredRun:
    """Two slides, one after the other: the first one's shards are alone and behind one another."""
    clients, shards, ends, calls = [], [], [], []
    for number, planned in enumerate((0.0, 20.0)):
        slide, job = f"slide-{number}", f"job-{number}"
        registered = planned + 0.1
        inspected = registered + 0.05 + 1.0
        submitted = inspected + 0.2
        clients.append(ClientTimes(job, slide, planned, registered, submitted))
        calls.append(TimedCall("inspect", registered + 0.05, inspected, frozenset({slide})))
        calls.append(TimedCall("plan", submitted + 0.05, submitted + 0.35, frozenset({job})))
        leased = submitted + 1.0
        for place in range(4):
            committed = leased + 1.2 + 0.8 * place
            shards.append(MeasuredShard(job, "worker", 600, leased + (0.6 * place), committed))
        computed = leased + 1.2 + 2.4
        calls.append(TimedCall("stitch", computed + 0.05, computed + 0.55, frozenset({job})))
        calls.append(TimedCall("wake", planned, planned + 0.02, frozenset()))
        ends.append(computed + 0.55)
    return MeasuredRun(0.0, clients, shards, ends, calls, load=0.0)


def test_constants_come_out_as_they_went_in() -> None:
    found = derive_constants([make_run()])
    for name in ("registering", "submitting", "inspect", "plan", "stitch"):
        assert getattr(found, name).values == pytest.approx((*getattr(CONSTANTS, name).values,) * 2)
    for name in ("relay", "hand_over", "shard", "tiles", "first"):
        assert getattr(found, name) == pytest.approx(getattr(CONSTANTS, name))


def test_a_slide_alone_takes_the_sum_of_its_steps() -> None:
    found = simulate_pattern(CONSTANTS, [0.0], TILES, workers=1, seed=1)
    steps = 0.05 + 1.0 + 0.2 + 0.05 + 0.3 + 0.05 + (0.4 + 4 * 0.8) + 0.05 + 0.5
    (seconds,) = found.seconds
    assert steps <= seconds <= steps + 1.0  # a worker that found nothing looks again after a second
    assert found.makespan == pytest.approx(seconds)


def test_slides_that_come_together_wait_for_one_worker() -> None:
    one = simulate_pattern(CONSTANTS, [0.0] * 5, TILES, workers=1, seed=1)
    two = simulate_pattern(CONSTANTS, [0.0] * 5, TILES, workers=2, seed=1)
    assert one.makespan >= 5 * 4 * 0.8
    assert two.makespan < one.makespan


def test_a_run_is_compared_with_its_own_constants() -> None:
    run = make_run()
    found = compare_pattern(run, derive_constants([run]), [0.0, 20.0], TILES, workers=1)
    assert [one.name for one in found] == ["time to result, p50", "time to result, p95", "all results"]
    assert all(abs(one.difference) < 0.1 for one in found)


def test_a_difference_is_of_the_measured() -> None:
    assert Compared("", measured=10, simulated=12).difference == pytest.approx(0.2)


def test_patterns_have_the_same_slides_in_other_groups() -> None:
    steady, bursts = make_steady(15, 2.0), make_bursts(15, 2.0)
    assert len(steady) == len(bursts) == 15
    assert max(bursts) == 20.0
    assert len(set(bursts)) == 3
    assert len(set(steady)) == 10
    assert steady == sorted(steady)
