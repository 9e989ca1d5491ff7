from __future__ import annotations

import tomllib
from pathlib import Path

from typer.testing import CliRunner

from tessera.cli import app


def test_the_command_says_the_version_of_pyproject():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    told = CliRunner().invoke(app, ["--version"])
    assert (told.exit_code, told.stdout.strip()) == (0, project["version"])
