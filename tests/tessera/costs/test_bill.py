"""The bill's arithmetic, each sum done here by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.settings.prices import HOURS_A_MONTH, PRICES
from tessera.costs.bill import compute_bill
from tessera.costs.bill_line import BillLine
from tessera.costs.configuration import PRESETS, Preset
from tessera.costs.load import Load

DEV, PROD = PRESETS[Preset.DEV], PRESETS[Preset.PROD]
SAFE = replace(PROD, recovery_region="eu-west-1")
IDLE = Load(slides_a_day=0)
BUSY = Load(slides_a_day=200, gib_a_slide=4)


def line(item: str, load: Load = BUSY, configuration=PROD) -> BillLine:
    [found] = [one for one in compute_bill(configuration, load).lines if one.item == item]
    return found


def test_every_price_has_a_unit_and_a_source_and_is_used_or_compared_with() -> None:
    assert all(price.dollars > 0 and price.unit and price.source for price in PRICES.values())
    busy = replace(BUSY, on_demand_share=0.5)
    setups = (DEV, PROD, replace(SAFE, worker_image="codebuild"))
    used = {one.price_name for setup in setups for one in compute_bill(setup, busy).lines}
    assert used == set(PRICES)


def test_an_idle_bill_holds_what_runs_without_slides_and_nothing_else() -> None:
    bill = compute_bill(PROD, IDLE)
    assert not bill.of_slides
    assert bill.dollars == bill.idle_dollars
    assert bill.dollars_a_slide is None
    assert {"EKS", "EC2", "EBS", "VPC", "RDS", "CloudWatch", "Prometheus", "KMS", "WAF"} <= set(bill.services)


@pytest.mark.parametrize("configuration", [DEV, PROD])
def test_slides_do_not_change_what_is_idle(configuration) -> None:
    idle, busy = (compute_bill(configuration, load).idle_dollars for load in (IDLE, BUSY))
    assert idle == busy


def test_services_add_up_to_the_bill() -> None:
    bill = compute_bill(PROD, BUSY)
    assert sum(part.dollars for part in bill.services.values()) == pytest.approx(bill.dollars)
    assert bill.dollars_a_slide == pytest.approx(bill.dollars / (200 * 365 / 12))


def test_builds_of_the_image_are_paid_where_codebuild_builds_it() -> None:
    by_codebuild = replace(PROD, worker_image="codebuild")
    assert line("builds of the worker's image", IDLE, by_codebuild).dollars == pytest.approx(4 * 15 * 0.01)
    assert "CodeBuild" not in compute_bill(PROD, IDLE).services


def test_gpu_hours_are_paid_on_spot_and_on_demand_by_their_shares() -> None:
    load = replace(BUSY, on_demand_share=0.25)
    hours = 200 * 365 / 12 * 300 / 3600
    assert line("GPU nodes for slides, spot", load).quantity == pytest.approx(0.75 * hours)
    on_demand = line("GPU nodes for slides, on demand", load)
    assert on_demand.dollars == pytest.approx(0.25 * hours * 0.9776)


def test_a_slide_of_4_gib_costs_0_092_dollars_for_thirty_hot_days_and_0_276_for_ninety() -> None:
    one_a_day = Load(slides_a_day=1, kept_days=30)
    # A slide a day, stored for 30 days: what one slide costs in a month times the days in it.
    assert line("originals of the last 30 days, Standard", one_a_day).dollars == pytest.approx(30 * 0.092)
    hot = replace(PROD, instant_retrieval_after_days=90)
    assert compute_bill(hot, replace(one_a_day, kept_days=90)).services["S3"].lines[0].dollars == pytest.approx(
        30 * 0.276
    )


def test_older_originals_cost_less_and_reading_them_more() -> None:
    cold = line("older originals, Instant Retrieval")
    assert cold.quantity == 200 * 335 * 4
    assert cold.dollars == pytest.approx(200 * 335 * 4 * 0.004)
    reads = 200 * 335 * BUSY.cold_reads_a_month
    assert line("reads of older originals").dollars == pytest.approx(reads * 1.2 * 0.03)


def test_slides_that_are_deleted_soon_are_charged_for_ninety_cold_days() -> None:
    assert line("older originals, Instant Retrieval", replace(BUSY, kept_days=31)).quantity == 200 * 90 * 4
    items = {one.item for one in compute_bill(PROD, replace(BUSY, kept_days=30)).lines}
    assert "older originals, Instant Retrieval" not in items


def test_thirty_hot_days_cost_less_than_ninety_while_slides_are_seldom_read() -> None:
    def storage(days: int, reads: float) -> float:
        setup, load = replace(PROD, instant_retrieval_after_days=days), replace(BUSY, cold_reads_a_month=reads)
        return compute_bill(setup, load).services["S3"].dollars

    assert storage(30, BUSY.cold_reads_a_month) < 0.75 * storage(90, BUSY.cold_reads_a_month)
    assert storage(30, 1.9) < storage(90, 1.9)
    assert storage(30, 2.2) > storage(90, 2.2)


def test_a_standby_costs_as_much_as_the_database() -> None:
    assert line("2 × m7g.large").dollars == pytest.approx(2 * HOURS_A_MONTH * 0.168)
    assert line("disks", IDLE, DEV).quantity == 20


def test_logs_are_paid_when_they_come_and_while_they_stay() -> None:
    assert line("logs of slides").quantity == pytest.approx(BUSY.slides_a_month * BUSY.log_gib_a_slide)
    stored = [line("logs without slides, stored", IDLE, replace(PROD, log_days=days)).quantity for days in (30, 90)]
    assert stored[1] == pytest.approx(3 * stored[0])


def test_a_slide_is_one_trace_and_a_share_of_them_can_be_left_out() -> None:
    assert line("traces of slides").dollars == pytest.approx(BUSY.slides_a_month * 5e-6)
    assert line("traces of slides", BUSY, replace(PROD, trace_share=0.1)).dollars == pytest.approx(
        BUSY.slides_a_month * 5e-7
    )


def test_a_second_region_costs_its_copies_and_their_way() -> None:
    here, safe = compute_bill(PROD, BUSY), compute_bill(SAFE, BUSY)
    assert [one for one in safe.lines if one.service != "Second region"] == list(here.lines)
    month = 200 * 365 / 12
    assert line("slides and results on their way", BUSY, SAFE).quantity == pytest.approx(month * 4.05)
    assert line("results within 15 minutes", BUSY, SAFE).quantity == pytest.approx(month * 0.05)
    assert line("originals, Instant Retrieval", BUSY, SAFE).dollars == pytest.approx(200 * 365 * 4 * 0.004)
    assert compute_bill(SAFE, IDLE).idle_dollars - compute_bill(PROD, IDLE).idle_dollars == pytest.approx(
        40 * 0.095 + 365 / 12 * 0.02 + 2 * 1 + 6 * 0.10 + 12 * 0.30
    )


def test_replicas_that_are_deleted_soon_are_charged_for_ninety_days() -> None:
    short = replace(BUSY, kept_days=10)
    assert line("originals, Instant Retrieval", short, SAFE).quantity == 200 * 90 * 4
