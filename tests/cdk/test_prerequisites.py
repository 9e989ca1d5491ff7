"""A machine that lacks something: `cdk synth` ends with a sentence that names it, and no traceback of jsii."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import aws_cdk as cdk
import pytest

from cdk import bundling, wheels
from cdk.bundling import AssetKind, ensure_installed
from cdk.deployment import Deployment
from cdk.installation import Installation
from cdk.prerequisites import MissingPrerequisite
from cdk.wheels import LAMBDA, WHEELS, name_command
from tests.prerequisites import WHEELS_OF_FUNCTIONS

ROOT = Path(__file__).parents[2]


def run_app(*options: str, **environ: str) -> str:
    """Run the app, which must fail, and return all that it says."""
    given = {name: value for name, value in os.environ.items() if name != "JSII_NODE"}
    done = subprocess.run(
        [sys.executable, *options, ROOT / "app.py"],
        env=given | environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    return (done.stdout + done.stderr).strip()


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without wheels, on which pip finds no index."""
    monkeypatch.setattr(bundling, "BUNDLES", tmp_path / "bundles")
    for module in (bundling, wheels):
        monkeypatch.setattr(module, "WHEELS", tmp_path / "wheels")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return tmp_path


def test_without_node_the_app_says_so_and_where_to_get_it(tmp_path: Path) -> None:
    said = run_app(JSII_NODE=str(tmp_path / "node"))
    assert said == (
        f"JSII_NODE names {tmp_path}/node, which is no program. The CDK needs Node 22 or newer: https://nodejs.org has"
        " it, and `make setup` installs one into .tools."
    )


@pytest.mark.parametrize(("version", "named"), [("v16.20.0", "Node 16.20.0"), ("", "Node of an unknown version")])
def test_a_node_that_is_too_old_is_named(tmp_path: Path, version: str, named: str) -> None:
    node = tmp_path / "node"
    node.write_text(f"#!/bin/sh\necho {version}\n")
    node.chmod(0o755)
    assert run_app(JSII_NODE=str(node)).startswith(f"{node} is {named}. The CDK needs Node 22")


def test_a_python_without_the_cdk_is_told_to_install_it() -> None:
    said = run_app("-S")  # without site-packages, as where no environment is active
    assert said.endswith("pip install -r requirements.txt")
    assert len(said.splitlines()) == 1


@WHEELS_OF_FUNCTIONS.mark
def test_missing_wheels_are_fetched_with_a_line_that_says_so(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(WHEELS / LAMBDA.name))  # in the place of an index
    ensure_installed(AssetKind.MIGRATIONS, LAMBDA)
    assert len(list((bare / "bundles").iterdir())) == 1
    said = capfd.readouterr().err.splitlines()
    assert [line.startswith(f"Fetching the wheels of the functions into {bare}/wheels/lambda") for line in said] == [
        True
    ]
    ensure_installed(AssetKind.MIGRATIONS, LAMBDA)
    assert capfd.readouterr().err == ""


def test_a_synth_that_cannot_fetch_them_names_the_command(bare: Path) -> None:
    """Not as an error inside of jsii's callback, which would carry the tracebacks of two languages."""
    flags = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = cdk.App(context=flags, outdir=str(bare / "out"))
    with pytest.raises(MissingPrerequisite) as refused:
        Installation(app, Deployment.from_context({"environment": "dev"}))
    assert str(refused.value).endswith(f"once pip reaches its package index: {name_command(LAMBDA)}")
    assert len(str(refused.value).splitlines()) == 1
