"""`tessera models list` against a small real server."""

from __future__ import annotations

from typer.testing import CliRunner

from tessera.cli import app
from tests.tessera.server import Installation, served


def test_models_are_listed_with_whose_they_are() -> None:
    models = [
        {"name": "net", "version": "1", "is_default": True, "owner": "tenant", "digest": "d", "card": {}},
        {"name": "stain-density", "version": "1.1", "is_default": True, "owner": "installation"},
        {"name": "tumor", "version": "2", "is_default": False},  # of an earlier release
    ]
    with served(Installation(models=models)) as url:
        result = CliRunner().invoke(app, ["models", "list", "--api", url, "--api-key", "tsk_a_b"])
    assert result.exit_code == 0, result.output
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.stdout.splitlines() if "│" in line]
    assert rows == [
        ["net", "1", "yes", "yours"],
        ["stain-density", "1.1", "yes", "of the installation"],
        ["tumor", "2", "", ""],
    ]
