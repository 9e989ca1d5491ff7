"""`pip install -r requirements.txt` and plain `pytest`, without make: everything is named and pinned, and what is not
installed is skipped with the command that installs it. Under make nothing is skipped so."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import prerequisites
from tests.prerequisites import NODE_FOR_CDK, WITH_CDK, Prerequisite

ROOT = Path(__file__).parents[2]
#: Files of environments of their own, with pins of their own.
APART = {"docs.txt", "ministack.txt", "security.txt"}


def lines_of(file: Path) -> Iterator[str]:
    for line in file.read_text().splitlines():
        stated = line.partition("#")[0].strip()
        if stated.startswith("-r "):
            yield from lines_of(file.parent / stated.removeprefix("-r "))
        elif stated:
            yield stated


def names_in(file: Path) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in lines_of(file) if not line.startswith("-")}


def test_one_file_names_all_that_synth_and_pytest_need() -> None:
    named = names_in(ROOT / "requirements.txt")
    assert {"aws-cdk-lib", "constructs", "boto3", "aws-lambda-powertools", "pydantic"} <= named
    assert {"torch", "torchvision", "openslide-python", "moto", "pytest"} <= named
    parts = [path for path in (ROOT / "requirements").glob("*.txt") if path.name not in APART]
    assert {name for path in parts for name in names_in(path)} <= named


def test_it_installs_the_versions_of_the_constraints() -> None:
    assert "-c constraints.txt" in lines_of(ROOT / "requirements.txt")
    pinned = names_in(ROOT / "constraints.txt")
    assert names_in(ROOT / "requirements.txt") <= pinned


def test_the_app_runs_in_the_environment_that_is_active() -> None:
    assert json.loads((ROOT / "cdk.json").read_text())["app"] == "python3 app.py"


@pytest.mark.parametrize(("given", "asked"), [([], "any-change"), (["APPROVAL=never"], "never")])
def test_make_deploys_in_its_own_environment_and_unattended_if_told(given: list[str], asked: str) -> None:
    command = ["make", "--dry-run", "deploy", "CONTEXT=-c environment=dev", *given]
    # Run by make itself, these hold what that make was given.
    environ = {name: value for name, value in os.environ.items() if name not in ("APPROVAL", "MAKEFLAGS", "MAKELEVEL")}
    said = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=True).stdout
    (line,) = [line for line in said.splitlines() if " deploy --all " in line]
    assert line.endswith(f"deploy --all --require-approval {asked} -c environment=dev")
    assert line.startswith(f'PATH="{ROOT}/.venv/bin:')


@pytest.mark.parametrize(("value", "skips"), [(None, True), ("", True), ("required", False)])
def test_what_is_missing_is_skipped_unless_it_is_required(
    monkeypatch: pytest.MonkeyPatch, value: str | None, skips: bool
) -> None:
    monkeypatch.delenv("SETUP_TESTS", raising=False)
    if value is not None:
        monkeypatch.setenv("SETUP_TESTS", value)
    missing = Prerequisite(is_here=lambda: False, reason="It is not here: `make setup` installs it.")
    assert missing.should_skip() is skips
    with pytest.raises(pytest.skip.Exception if skips else pytest.fail.Exception, match="make setup"):
        missing.require()
    Prerequisite(is_here=lambda: True, reason="").require()


def test_each_reason_for_skipping_names_a_command_or_an_address() -> None:
    reasons = [one.reason for one in vars(prerequisites).values() if isinstance(one, Prerequisite)]
    assert len(reasons) > 5
    assert [reason for reason in reasons if not re.search(r"`[\w.-]+ .+`|https://", reason)] == []


def test_make_and_ci_require_what_they_install() -> None:
    assert re.search(r"^export SETUP_TESTS := required$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert "export BROWSER_TESTS=required" in (ROOT / ".ci/run").read_text()


def test_only_modules_that_are_skipped_without_node_import_the_cdk() -> None:
    graph = grimp.build_graph(
        *("tests", "benchmarks", "local", "tessera", "cdk", "lambdas", "gpu_worker", "inference", "adapters", "wsi"),
        include_external_packages=True,
        exclude_type_checking_imports=True,
        cache_dir=None,
    )
    files = {f"{name.replace('.', '/')}.py" for name in graph.find_downstream_modules("aws_cdk")}
    assert "tests/cdk/test_stacks.py" in files
    assert {file for file in files if file.startswith("tests/") and not file.startswith(WITH_CDK)} == set()


def test_without_node_these_modules_are_skipped_and_nothing_fails() -> None:
    environ = {name: value for name, value in os.environ.items() if name != "SETUP_TESTS"}
    modules = [str(min((ROOT / one).glob("test_*.py"))) if one.endswith("/") else one for one in WITH_CDK]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *modules],
        cwd=ROOT,
        env={**environ, "JSII_NODE": "/nowhere/node"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.count(NODE_FOR_CDK.reason) >= 1, done.stdout
    assert done.stdout.splitlines()[-1].split(" in ")[0].strip(" =") == f"{len(modules)} skipped"
