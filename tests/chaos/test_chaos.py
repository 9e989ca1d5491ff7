"""A stack under faults loses nothing, doubles nothing, and shows nobody what is another's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.faults import FAULTS
from tests.chaos.run import run
from tests.chaos.schedule import make_schedule
from tests.prerequisites import EMULATOR, NODE

SEED = 17
WEIGHTS = {name: fault.weight for name, fault in FAULTS.items()}


def test_a_seed_gives_one_plan() -> None:
    assert make_schedule(SEED, 180, WEIGHTS, pause=2) == make_schedule(SEED, 180, WEIGHTS, pause=2)
    assert make_schedule(SEED, 180, WEIGHTS, pause=2) != make_schedule(SEED + 1, 180, WEIGHTS, pause=2)


def test_a_plan_of_three_minutes_has_every_fault_in_order_of_time() -> None:
    plan = make_schedule(SEED, 180, WEIGHTS, pause=2)
    assert {one.fault for one in plan.planned} == FAULTS.keys()
    assert [one.at for one in plan.planned] == sorted(one.at for one in plan.planned)
    assert plan.planned[-1].at < 180


@pytest.mark.stack
@pytest.mark.exhaustive
def test_a_stack_under_every_fault_comes_to_the_results_of_a_calm_one(tmp_path: Path) -> None:
    EMULATOR.require()
    NODE.require()
    plan = make_schedule(SEED, 40, WEIGHTS, pause=1.1)
    report = run(tmp_path, plan, pause=2.0, calm_limit=100)
    assert report.count.is_clean, f"{plan}\n{report}"
    assert report.faults.total() >= 25
    assert report.count.jobs["COMPLETED"] >= 5
    assert report.restarts.total() >= 3
