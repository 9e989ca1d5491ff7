"""`tessera usage` against a small real server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tessera.cli import app
from tests.tessera.server import Installation, served

LINE: dict[str, Any] = {
    "day": None,
    "model": None,
    "model_version": None,
    "requester": None,
    "person": None,
    "tiles": 1_000,
    "worker_seconds": 7_200.0,
    "dollars": 2.0,
}
BUDGET = {"month": "2026-11-01", "dollars_a_month": 2.5, "dollars": 2.0, "share": 0.8, "stops": True}


def report(by: str, *items: dict[str, Any], budget: dict[str, Any] | None = None) -> dict[str, Any]:
    total = {name: sum(item[name] for item in items) for name in ("tiles", "worker_seconds", "dollars")}
    return {"by": by, "first": "2026-11-01", "last": "2026-11-30", "items": [*items], "budget": budget, **total}


def usage(answer: dict[str, Any], *arguments: str) -> tuple[Installation, Result]:
    installation = Installation(usage=answer)
    with served(installation) as url:
        options = ["--api", url, "--api-key", "tsk_a_b", *arguments]
        return installation, CliRunner().invoke(app, ["usage", *options])


def test_lines_sums_and_the_budget_are_printed() -> None:
    days = [{**LINE, "day": "2026-11-02"}, {**LINE, "day": "2026-11-03", "worker_seconds": 3_600.0, "dollars": 1.0}]
    installation, result = usage(report("day", *days, budget=BUDGET), "--from", "2026-11-01", "--to", "2026-11-30")
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["2026-11-02", "█" * 24, "1,000", "2.00", "2.00"] in rows
    assert ["2026-11-03", "█" * 12, "1,000", "1.00", "1.00"] in rows
    assert ["all", "2,000", "3.00", "3.00"] in rows
    assert "2.00 of 2.50 dollars are used (80%); then new jobs are refused." in result.stdout
    assert installation.calls == ["GET /usage"]
    assert installation.queries == [{"by": "day", "from": "2026-11-01", "to": "2026-11-30"}]


@pytest.mark.parametrize(
    ("by", "changes", "said"),
    [
        ("model", {"model": "net", "model_version": "2"}, "net 2"),
        ("person", {"requester": "user:1", "person": "ada@hospital.example"}, "ada@hospital.example"),
        ("person", {"requester": "user:1"}, "user:1"),
        ("model", {}, "before an upgrade"),
    ],
)
def test_a_line_is_named_by_what_it_stands_for(by: str, changes: dict[str, Any], said: str) -> None:
    installation, result = usage(report(by, {**LINE, **changes}), "--by", by, "--mine")
    assert said in result.stdout
    assert installation.queries == [{"by": by, "mine": "true"}]


def test_json_is_the_answer() -> None:
    answer = report("day")
    assert json.loads(usage(answer, "--json")[1].stdout) == answer
    assert usage(answer)[1].exit_code == 0
