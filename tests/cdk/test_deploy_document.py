"""docs/how-to/deploy.md, held to the code that it describes."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from adapters.settings.prices import PRICES, get_price
from cdk.deployment import Deployment
from lambdas.schemas.administration import Action
from tessera.costs.bill import compute_bill
from tessera.costs.configuration import PRESETS, Preset
from tessera.costs.load import Load
from tests.cdk.templates import Templates

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/how-to/deploy.md").read_text()
HARMLESS = {"emulated"}  #: settings of the emulated deployment, which has a page of its own


def test_every_setting_is_explained() -> None:
    assert {name for name in Deployment.model_fields if f"`{name}`" not in TEXT} <= HARMLESS


def test_every_action_that_it_asks_for_exists() -> None:
    asked = set(re.findall(r'scripts/administer\.sh \w+ [\'"]\{\\?"(\w+)', TEXT))
    assert {"add_tenant", "add_user", "add_key", "register_builtin"} <= asked
    assert asked <= set(Action.model_fields)


def test_every_output_that_it_asks_for_exists(templates: Templates) -> None:
    asked = re.findall(r"\$\(out (\w+) (\w+)\)", TEXT)
    assert {"UserPoolId", "Issuer"} <= {output for _, output in asked}
    for noun, output in asked:
        assert output in templates.by_noun[noun]["Outputs"], (noun, output)


def test_the_idle_costs_are_those_of_the_bill() -> None:
    dev, prod = (compute_bill(PRESETS[preset], Load(slides_a_day=0)) for preset in Preset)
    for service, part in dev.services.items():
        row = f"| {service} | {part.dollars:.0f} | {prod.services[service].dollars:.0f} |"
        assert row in TEXT or part.dollars < 0.5
    assert f"| **all** | **{dev.dollars:.0f} $** | **{prod.dollars:.0f} $** |" in TEXT
    gpu = Load(slides_a_day=1).gpu_seconds_a_slide / 3600 * dollars("EC2 g6.2xlarge spot")
    assert f"Below about {round(prod.dollars / gpu, -3):,.0f} such slides a month" in TEXT


def test_the_costs_of_a_slide_are_those_of_the_table_of_prices() -> None:
    hours, tiles, gets, gib, read_gib = 5 / 60, 36_600, 150, 4, 1.2
    spot, on_demand = hours * dollars("EC2 g6.2xlarge spot"), hours * dollars("EC2 g6.2xlarge")
    assert f"| GPU | {spot:.3f} $ | {on_demand:.3f} $ on demand |" in TEXT
    get, put = dollars("S3 GET") / 1000, dollars("S3 PUT") / 1000
    assert f"| {gets * get:.5f} $ in {gets} requests | {tiles * get:.3f} $, one request a tile |" in TEXT
    assert f"| {read_gib * dollars('NAT traffic'):.3f} $ through NAT |" in TEXT
    assert f"| results | {50 * put:.4f} $ | {tiles * put:.2f} $, one object a tile |" in TEXT
    hot, cold = gib * dollars("S3 Standard"), gib * dollars("S3 Glacier Instant Retrieval")
    assert f"| {hot + 2 * cold:.3f} $, Instant Retrieval from day 30 | {3 * hot:.3f} $, all in Standard |" in TEXT
    assert f"| storing it for each month after that | {cold:.3f} $ | {hot:.3f} $ |" in TEXT


def test_the_bill_with_slides_is_the_example_of_the_command() -> None:
    bill = compute_bill(PRESETS[Preset.PROD], Load(slides_a_day=200, gib_a_slide=4))
    originals = sum(line.dollars for line in bill.lines if "originals" in line.item)
    assert f"originals cost {originals:,.0f} $ a month, and all other services" in TEXT
    assert f"together {bill.dollars - originals:,.0f} $." in TEXT
    checked = sum(price.was_checked for price in PRICES.values())
    assert 0.2 < checked / len(PRICES) < 0.25  # "more than a fifth of them"


def dollars(name: str) -> float:
    return get_price(name).dollars


def test_the_scripts_are_bash_and_say_how_they_are_used() -> None:
    for name in ("smoke.sh", "administer.sh", "destroy.sh"):
        script = ROOT / "scripts" / name
        assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
        done = subprocess.run(["bash", script], capture_output=True, text=True, check=False)
        assert (done.returncode, "usage:" in done.stderr) == (2, True)


def test_smoke_says_at_once_that_nothing_answers() -> None:
    done = subprocess.run(
        ["bash", ROOT / "scripts/smoke.sh", "http://127.0.0.1:9"],
        env={**os.environ, "TESSERA_API_KEY": "tsk_000000_0000"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].strip() == "nothing more is tried: is http://127.0.0.1:9 the address?"
