"""Dollars of a simulated day, by the prices and the bill of `tessera admin cost`."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.settings.prices import get_price
from benchmarks.fleet.outcome import RELAY, FleetOutcome
from tessera.costs.bill import compute_bill
from tessera.costs.configuration import PRESETS, Preset
from tessera.costs.load import Load

#: GiB of each function (cdk/api/functions.py, which needs the CDK's packages; a test compares them).
FUNCTION_GIB = {"inspect": 4.0, "plan": 4.0, "stitch": 2.0, "notify": 0.5, RELAY: 1.0}
#: What a slide's 500 answers of the API take of `function_gib_seconds_a_slide`: 0.1 s of 1 GiB each.
API_GIB_SECONDS = 50.0


@dataclass(frozen=True, slots=True)
class SlideCost:
    """Dollars a slide."""

    work: float  #: of GPUs that compute
    idle: float  #: of GPUs that boot, start, wait or are kept warm
    functions: float
    whole_bill: float  #: by `tessera admin cost`: with database, network, and storage for a year


def compute_slide_cost(outcome: FleetOutcome) -> SlideCost:
    """Return what a slide costs if every day is like this one."""
    slides = outcome.slides
    gpu = outcome.spot_seconds * _price_second("EC2 g6.2xlarge spot") + outcome.on_demand_seconds * _price_second(
        "EC2 g6.2xlarge"
    )
    work_share = outcome.work_seconds / outcome.node_seconds
    gib_seconds = sum(outcome.function_seconds[name] * gib for name, gib in FUNCTION_GIB.items())
    calls = sum(outcome.calls.values())
    functions = (
        gib_seconds / 1e6 * get_price("Lambda arm64").dollars + calls / 1e6 * get_price("Lambda request").dollars
    )
    bill = compute_bill(
        PRESETS[Preset.PROD],
        Load(
            slides_a_day=slides,
            gpu_seconds_a_slide=outcome.node_seconds / slides,
            on_demand_share=outcome.on_demand_seconds / outcome.node_seconds,
            function_gib_seconds_a_slide=gib_seconds / slides + API_GIB_SECONDS,
            node_starts_a_day=outcome.nodes,
        ),
    )
    if bill.dollars_a_slide is None:
        raise ValueError("a day without slides has no costs a slide")
    return SlideCost(
        work=gpu * work_share / slides,
        idle=gpu * (1 - work_share) / slides,
        functions=functions / slides,
        whole_bill=bill.dollars_a_slide,
    )


def _price_second(name: str) -> float:
    return get_price(name).dollars / 3_600
