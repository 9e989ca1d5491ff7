"""Outcomes add up and choose the exit code."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from client.outcomes import Outcome, SlideOutcome, check_sum, exit_code, summary_line, table


def ended(*kinds: Outcome) -> list[SlideOutcome]:
    return [SlideOutcome(name=f"slide-{number}", outcome=kind) for number, kind in enumerate(kinds)]


@pytest.mark.parametrize(
    ("kinds", "code"),
    [
        ((Outcome.COMPLETED, Outcome.NO_TISSUE, Outcome.SKIPPED, Outcome.COMPLETED_WITH_UNREADABLE_TILES), 0),
        ((Outcome.COMPLETED, Outcome.REJECTED), 3),
        ((Outcome.REJECTED, Outcome.FAILED), 4),
        ((Outcome.FAILED,), 4),
    ],
)
def test_the_worst_outcome_chooses_the_exit_code(kinds: tuple[Outcome, ...], code: int) -> None:
    assert exit_code(ended(*kinds)) == code


@given(st.lists(st.sampled_from(Outcome)))
def test_the_line_below_the_table_adds_up(kinds: list[Outcome]) -> None:
    total, _, terms = summary_line(ended(*kinds)).partition(" = ")
    assert int(total.split()[0]) == sum(int(term.split()[0]) for term in terms.split(" + "))


def test_a_slide_without_an_outcome_is_noticed() -> None:
    outcomes = ended(Outcome.COMPLETED)
    check_sum(["slide-0"], outcomes)
    with pytest.raises(AssertionError):
        check_sum(["slide-0", "slide-1"], outcomes)
    with pytest.raises(AssertionError):
        check_sum(["slide-1"], outcomes)


def test_a_name_with_brackets_is_shown_as_it_is() -> None:
    shown = StringIO()
    rows = [SlideOutcome(name="case [bold]7", outcome=Outcome.COMPLETED)]
    Console(file=shown, width=120).print(table(rows))
    assert "case [bold]7" in shown.getvalue()
