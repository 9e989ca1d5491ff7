from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from wsi.numerics import CODE_VERSION, NUMERICS_VERSION, PINNED


def test_pinned_versions_are_those_that_are_installed():
    # The API, which installs no codec, names the pinned ones in a job's identity.
    assert {name: version(name) for name in PINNED} == dict(PINNED)
    assert version("tessera-wsi") == CODE_VERSION


def test_pinned_versions_are_those_of_the_constraints():
    lines = (Path(__file__).parents[2] / "constraints.txt").read_text().splitlines()
    constraints = dict(line.split("==") for line in lines if "==" in line)
    assert {name: constraints[name] for name in PINNED} == dict(PINNED)


def test_the_numerics_version_names_every_codec():
    assert all(f"{name}-{pinned}" in NUMERICS_VERSION for name, pinned in PINNED.items())
