"""`tessera admin cost`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tessera.cli import app
from tessera.local_run.inputs import UsageError

USAGE = {"days": 30, "usage": [{"day": "2026-11-01", "tiles": 100, "worker_seconds": 7200.0}]}


def cost(*arguments: str, input: str | None = None) -> Result:
    return CliRunner().invoke(app, ["admin", "cost", *arguments], input=input)


def test_the_table_has_services_a_total_and_what_of_it_is_idle() -> None:
    result = cost("--slides-a-day", "200", "--gib", "4")
    assert result.exit_code == 0, result.output
    rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines() if line.strip()}
    assert rows["EKS"] == ["73.00", "73.00", "0.0120"]
    assert rows["S3"][1] == "0.00"
    total, idle, a_slide = (float(text.replace(",", "")) for text in rows["all"])
    assert total > idle > 700
    assert a_slide == pytest.approx(total / (200 * 365 / 12), abs=1e-4)


def test_it_says_where_prices_are_from_and_which_were_not_checked() -> None:
    result = cost("--slides-a-day", "1", "--lines")
    assert "prices of us-east-1" in result.stdout
    assert "price list of 20260924" in result.stdout
    assert "0.08 *" in result.stdout


def test_json_has_every_line_with_its_price() -> None:
    result = cost("--slides-a-day", "200", "--preset", "dev", "-c", "nat_gateways=2", "--json")
    assert result.exit_code == 0, result.output
    bill = json.loads(result.stdout)
    assert bill["configuration"]["nat_gateways"] == 2
    assert sum(line["dollars"] for line in bill["idle"]) == pytest.approx(bill["idle_dollars_a_month"])
    lines = bill["idle"] + bill["of_slides"]
    assert sum(line["dollars"] for line in lines) == pytest.approx(bill["dollars_a_month"])
    assert all({"dollars", "unit", "source"} == set(line["price"]) for line in lines)
    assert bill["advice"]


def test_usage_comes_from_a_file_or_from_stdin(tmp_path: Path) -> None:
    path = tmp_path / "usage.json"
    path.write_text(json.dumps(USAGE))
    for result in (
        cost("--slides-a-day", "1", "--usage", str(path)),
        cost("--slides-a-day", "1", "--usage", "-", input=json.dumps(USAGE)),
    ):
        assert "workers computed for 2.0 hours" in result.stdout


@pytest.mark.parametrize("text", ["", "{}", '{"error": "no"}', json.dumps({**USAGE, "days": 0})])
def test_another_file_than_usage_is_refused_with_what_to_do(text: str) -> None:
    result = cost("--slides-a-day", "1", "--usage", "-", input=text)
    assert isinstance(result.exception, UsageError)
    assert "stdin is not an answer of list_usage" in str(result.exception)


def test_a_load_without_an_end_is_refused() -> None:
    assert cost("--slides-a-day", "inf").exit_code == 2


def test_a_missing_file_is_refused() -> None:
    assert "cannot be read" in str(cost("--slides-a-day", "1", "--usage", "/nowhere/usage.json").exception)
