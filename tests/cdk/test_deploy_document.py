"""docs/how-to/deploy.md, held to the code that it describes."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from benchmarks.costs import EXAMPLE
from benchmarks.costs import PRESETS as COSTS
from cdk.deployment import Deployment
from lambdas.schemas.administration import Action
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


def test_the_costs_are_those_that_the_table_of_prices_gives() -> None:
    for preset, idle in COSTS.items():
        assert f"**{sum(cost for _, cost in idle.compute_costs()):.0f} $**" in TEXT, preset
    gpu = EXAMPLE.compute_costs()[0]
    assert f"| {gpu[1]:.3f} $ | {gpu[2]:.3f} $ on demand |" in TEXT


def test_the_costs_are_of_what_the_presets_make() -> None:
    for preset, idle in COSTS.items():
        made = Deployment.from_context({"environment": preset})
        assert idle.database == made.database_instance_type
        assert idle.standbys == int(made.database_multi_az)
        assert idle.nat_gateways == made.nat_gateway_count
        assert (idle.warm_hours > 0) == (made.warm_nodes > 0)


def test_the_scripts_are_bash_and_say_how_they_are_used() -> None:
    for name in ("smoke.sh", "administer.sh", "destroy.sh"):
        script = ROOT / "scripts" / name
        assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
        done = subprocess.run(["bash", script], capture_output=True, text=True, check=False)
        assert (done.returncode, "usage:" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ('{"tenant": "0b"}', 0),
        ('{"error": "There is a tenant of that name."}', 1),
        ('{"errorMessage": "timed out", "errorType": "Sandbox.Timedout"}', 1),
    ],
)
def test_administer_fails_when_its_function_does(tmp_path: Path, answer: str, code: int) -> None:
    """`aws lambda invoke` itself ends well whatever the function did."""
    command = tmp_path / "aws"
    command.write_text(
        f'#!/bin/sh\nfor last; do :; done\n[ "$1" = lambda ] || exit 0\nprintf %s \'{answer}\' > "$last"\n'
    )
    command.chmod(0o755)
    done = subprocess.run(
        ["bash", ROOT / "scripts/administer.sh", "dev", "{}"],
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (code, answer)


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
