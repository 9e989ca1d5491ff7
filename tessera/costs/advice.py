"""Advice on spot, on-demand prices and savings plans, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from adapters.settings.prices import HOURS_A_MONTH, PLAN_SHARE, get_price
from tessera.costs.bill import Bill
from tessera.costs.bill_line import sum_dollars
from tessera.costs.load import Load
from tessera.costs.usage import Usage


def list_advice(bill: Bill, load: Load, usage: Usage | None = None) -> tuple[str, ...]:
    """Return the advice for this bill, and for what workers really did where `usage` says it."""
    sentences = list(_compare_spot(load))
    if usage is not None:
        sentences.append(_describe_usage(usage))
    sentences += [_compare_plan(usage, load), _plan_what_always_runs(bill), *_compare_storage(bill, load)]
    return tuple(sentences)


def _compare_spot(load: Load) -> Iterator[str]:
    hours, spot, full = load.gpu_hours_a_month, _spot(), _full()
    if not hours:
        return
    yield (
        f"Spot: {hours:,.0f} GPU hours a month cost ${hours * spot:,.0f} on spot and ${hours * full:,.0f} on demand;"
        f" spot is {spot / full:.0%} of on demand."
    )
    if load.on_demand_share:
        extra = hours * load.on_demand_share * (full - spot)
        yield (
            f"On demand: {load.on_demand_share:.0%} of the hours found no spot capacity, for ${extra:,.0f} more a"
            " month. Name more gpu_instance_types and all zones of the region."
        )


def _describe_usage(usage: Usage) -> str:
    hours = usage.gpu_hours
    return (
        f"Usage: in {usage.days} days, workers computed for {hours:,.1f} hours, for ${hours * _spot():,.2f} on spot:"
        f" {usage.mean_workers:.1%} of one GPU that never stops. Boots and waiting come on top."
    )


def _compare_plan(usage: Usage | None, load: Load) -> str:
    """Compare a plan with spot, and with on demand for the hours in which there is no spot capacity."""
    spot_share = _spot() / _full()
    if spot_share <= PLAN_SHARE:
        verdict = f"never pays against spot ({spot_share:.0%})"
    else:
        verdict = f"pays against spot from {PLAN_SHARE / spot_share:.0%} of all hours"
    used = usage.mean_workers if usage is not None else load.gpu_hours_a_month / HOURS_A_MONTH
    without_spot = used * load.on_demand_share
    nodes = int(without_spot + 1 - PLAN_SHARE)  # the last one must be used for PLAN_SHARE of the time
    found = f"yours use {without_spot:.1%} of one node on demand: " + (
        f"a plan for {nodes} would pay." if nodes else "buy none."
    )
    return (
        f"Savings plan for GPUs: at {PLAN_SHARE:.0%} of on demand it {verdict}, and against on demand from"
        f" {PLAN_SHARE:.0%} of all hours of a node, {PLAN_SHARE * HOURS_A_MONTH:.0f} a month; {found}"
    )


def _plan_what_always_runs(bill: Bill) -> str:
    """Say what a plan saves for system nodes and database, which never stop."""
    always = sum_dollars(
        line
        for line in bill.idle
        if line.service in ("EC2", "RDS") and line.price.unit == "h" and not line.price_name.endswith("spot")
    )
    return (
        f"Savings plan for what always runs: system nodes and database cost ${always:,.0f} a month; plans of one year"
        f" save about ${always * (1 - PLAN_SHARE):,.0f} of it, once the sizes have proved right."
    )


def _compare_storage(bill: Bill, load: Load) -> Iterator[str]:
    originals = [line for line in bill.lines if line.service == "S3" and "originals" in line.item]
    if len(originals) > 1:
        hot = load.slides_a_day * load.kept_days * load.gib_a_slide * get_price("S3 Standard").dollars
        yield (
            f"Storage: originals cost ${sum_dollars(originals):,.0f} a month with their reads, and ${hot:,.0f} if all"
            " stayed in Standard. Slides that nobody needs: archive or delete them."
        )


def _spot() -> float:
    return get_price("EC2 g6.2xlarge spot").dollars


def _full() -> float:
    return get_price("EC2 g6.2xlarge").dollars
