"""docs/explanation/scaling.md and docs/how-to/deploy.md, held to the arithmetic."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.settings.queues import WOKEN
from cdk.deployment import MOST_GPU_NODES, Deployment
from cdk.scale import addresses
from cdk.scale_report import list_quotas
from tessera.costs.bill import compute_bill
from tessera.costs.configuration import PRESETS, Preset
from tessera.costs.load import Load

DOCS = Path(__file__).parents[3] / "docs"
TEXT = (DOCS / "explanation/scaling.md").read_text()
LOADS = (10, 1_000, 10_000, 100_000)


def deployments() -> list[Deployment]:
    return [Deployment.from_context({"environment": "prod", "slides_per_day": slides}) for slides in LOADS]


def row(name: str, values: list[int | float]) -> str:
    return f"| {name} | {' | '.join(f'{value:,}' for value in values)} |"


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("GPU workers", "gpu_workers"),
        ("heavy workers", "heavy_workers"),
        ("gateway, requests a second", "request_rate"),
        ("gateway, burst", "request_burst"),
        ("begun by one credential, a minute", "beginning_limit"),
        ("budget, dollars a month", "budget_dollars_a_month"),
    ],
)
def test_the_document_has_the_derived_numbers(name: str, number: str) -> None:
    assert row(name, [getattr(deployment.scale, number) for deployment in deployments()]) in TEXT


@pytest.mark.parametrize("queue", WOKEN)
def test_the_document_has_the_calls_at_once(queue: str) -> None:
    calls: list[int | float] = [deployment.scale.compute_concurrency(queue) for deployment in deployments()]
    assert row(f"calls at once of `{WOKEN[queue].name}`", calls) in TEXT


def test_the_document_has_the_rows_of_the_relay_and_the_addresses() -> None:
    made = deployments()
    assert (
        row("rows that the relay sends, a second", [round(one.scale.outbox_rows_a_second, 1) for one in made]) in TEXT
    )
    assert row("addresses", [one.addresses.needed for one in made]) in TEXT
    assert f"of {made[0].addresses.available:,} in three zones" in TEXT
    assert f"{addresses.GPU_NODE_ADDRESSES} addresses a GPU node" in TEXT


def test_the_document_names_the_quotas_of_the_largest_load() -> None:
    for quota in list_quotas(deployments()[-1]):
        if quota.must_be_raised:
            assert f"| {quota.code} | {quota.name} | {quota.default:,} | {quota.needed:,} |" in TEXT
    assert f"a group of nodes ends at {MOST_GPU_NODES}" in TEXT


@pytest.mark.parametrize("preset", Preset)
def test_the_budget_covers_an_idle_installation(preset: Preset) -> None:
    idle = compute_bill(PRESETS[preset], Load(slides_a_day=0)).dollars
    assert idle <= Deployment.from_context({"environment": preset}).scale.idle_dollars_a_month <= 1.2 * idle
