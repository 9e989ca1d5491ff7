"""docs/deploy.md, held to the code that it describes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from benchmarks.costs import EXAMPLE
from benchmarks.costs import PRESETS as COSTS
from cdk.deployment import PRESETS, Deployment
from lambdas.schemas.administration import Action

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/deploy.md").read_text()
HARMLESS = {"emulated"}  #: settings of the emulated deployment, which has a page of its own


def test_every_setting_is_explained() -> None:
    assert {name for name in Deployment.model_fields if f"`{name}`" not in TEXT} <= HARMLESS


def test_every_action_that_it_asks_for_exists() -> None:
    asked = set(re.findall(r'scripts/administer\.sh \w+ [\'"]\{\\?"(\w+)', TEXT))
    assert {"add_tenant", "add_user", "add_key", "register_builtin", "register_model"} <= asked
    assert asked <= set(Action.model_fields)


def test_the_costs_are_those_that_the_table_of_prices_gives() -> None:
    for preset, idle in COSTS.items():
        assert f"**{sum(cost for _, cost in idle.rows()):.0f} $**" in TEXT, preset
    gpu = EXAMPLE.rows()[0]
    assert f"| {gpu[1]:.3f} $ | {gpu[2]:.3f} $ on demand |" in TEXT


def test_the_costs_are_of_what_the_presets_make() -> None:
    for preset, idle in COSTS.items():
        said = PRESETS[preset]
        assert idle.database == said["database_instance_type"]
        assert idle.standbys == int(said["database_multi_az"])
        assert idle.nat_gateways == said["nat_gateways"]
        assert (idle.warm_hours > 0) == (said["warm_nodes"] > 0)


def test_the_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https:)([^)#]+)[^)]*\)", TEXT):
        assert (ROOT / "docs" / target).exists(), target


def test_the_scripts_are_bash_and_say_how_they_are_used() -> None:
    for name in ("smoke.sh", "administer.sh"):
        script = ROOT / "scripts" / name
        assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
        done = subprocess.run(["bash", script], capture_output=True, text=True, check=False)
        assert (done.returncode, "usage:" in done.stderr) == (2, True)
