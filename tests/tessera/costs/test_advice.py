from __future__ import annotations

from datetime import date

import pytest

from tessera.costs.advice import list_advice
from tessera.costs.bill import compute_bill
from tessera.costs.configuration import PRESETS, Preset
from tessera.costs.load import Load
from tessera.costs.usage import Usage, UsageDay


def advise(load: Load, usage: Usage | None = None) -> dict[str, str]:
    """Return the sentences by what they begin with."""
    sentences = list_advice(compute_bill(PRESETS[Preset.PROD], load), load, usage)
    return {sentence.partition(":")[0]: sentence for sentence in sentences}


def use(workers: float, days: int = 30) -> Usage:
    """The usage of so many workers that never stop."""
    seconds = workers * 24 * 3600
    return Usage(
        days=days, usage=tuple(UsageDay(day=date(2026, 11, 1), tiles=1, worker_seconds=seconds) for _ in range(days))
    )


def test_spot_is_compared_with_on_demand() -> None:
    assert "507 GPU hours a month cost $269 on spot and $496 on demand" in advise(Load(slides_a_day=200))["Spot"]
    assert "Spot" not in advise(Load(slides_a_day=0))


def test_hours_without_spot_have_a_price() -> None:
    sentence = advise(Load(slides_a_day=200, on_demand_share=0.5))["On demand"]
    assert "50% of the hours found no spot capacity, for $113 more a month" in sentence
    assert "On demand" not in advise(Load(slides_a_day=200))


def test_no_plan_is_advised_while_spot_is_to_be_had() -> None:
    sentence = advise(Load(slides_a_day=2000), use(9))["Savings plan for GPUs"]
    assert "never pays against spot (54%)" in sentence
    assert sentence.endswith("buy none.")


@pytest.mark.parametrize(
    ("workers", "found"),
    [
        (0.6, "buy none."),
        (0.63, "a plan for 1 would pay."),
        (2.4, "a plan for 2 would pay."),
        (2.7, "a plan for 3 would pay."),
    ],
)
def test_a_plan_pays_for_nodes_that_are_used_on_demand_most_of_the_time(workers: float, found: str) -> None:
    load = Load(slides_a_day=200, on_demand_share=1)
    assert advise(load, use(workers))["Savings plan for GPUs"].endswith(found)


def test_usage_is_reported_in_hours_and_dollars() -> None:
    assert (
        "in 30 days, workers computed for 72.0 hours, for $38.16 on spot: 10.0% of one GPU"
        in advise(Load(slides_a_day=1), use(0.1))["Usage"]
    )


def test_what_always_runs_is_worth_a_plan() -> None:
    sentence = advise(Load(slides_a_day=0))["Savings plan for what always runs"]
    assert "system nodes and database cost $438 a month" in sentence


def test_storage_is_compared_with_storage_that_is_never_moved() -> None:
    sentence = advise(Load(slides_a_day=200))["Storage"]
    assert "originals cost $1,750 a month with their reads, and $6,716 if all stayed in Standard" in sentence
