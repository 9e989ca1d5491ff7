"""What a run prints, and when it says that something is missing."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from cdk.emulated import Row
from local.emulated.report import Report


@pytest.fixture
def out():
    return io.StringIO()


@pytest.fixture
def report(out):
    return Report(Console(file=out, width=40))


def test_the_table_has_a_line_for_each_rule_with_what_stands_in_and_why(report, out):
    report.print_table([Row("A::B", "replaced", "a b", "no b", 2), Row("C::D", "dropped", "", "no d", 1)])
    report.print_table([Row("A::B", "replaced", "a b", "no b", 2), Row("A::B", "replaced", "a b", "no b", 3)])
    lines = out.getvalue().splitlines()
    assert "      2  replaced   A::B -> a b (no b)" in lines
    assert "      1  dropped    C::D (no d)" in lines
    assert "      5  replaced   A::B -> a b (no b)" in lines


def test_a_step_is_printed_with_its_time_and_note(report, out):
    with report.step("deploy data") as note:
        note("46 resources")
    assert out.getvalue().rstrip().endswith("s  deploy data: 46 resources")


def test_nothing_missing_is_a_good_verdict(report, out):
    report.check("results", holds=True)
    assert report.print_verdict()
    assert "Everything was deployed" in out.getvalue()


def test_one_missing_thing_is_a_bad_verdict_that_names_it(report, out):
    report.check("results", holds=True)
    report.check("pushes", holds=False, otherwise="none heard")
    report.check("logs", holds=True)
    assert not report.print_verdict()
    assert "MISSING  pushes: none heard" in out.getvalue()
    assert "1 missing" in out.getvalue()
