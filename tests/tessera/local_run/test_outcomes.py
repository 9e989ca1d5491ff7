"""Outcomes add up and choose the exit code."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tessera.local_run.inputs import Found, LeftOut, LeftOutReason, SlideInput
from tessera.local_run.outcomes import (
    Outcome,
    SlideOutcome,
    check_sum,
    choose_exit_code,
    make_table,
    summarise_files,
    summarise_outcomes,
)


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
    assert choose_exit_code(ended(*kinds)) == code


@given(st.lists(st.sampled_from(Outcome)))
def test_the_line_below_the_table_adds_up(kinds: list[Outcome]) -> None:
    total, _, terms = summarise_outcomes(ended(*kinds)).partition(" = ")
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
    Console(file=shown, width=120).print(make_table(rows))
    assert "case [bold]7" in shown.getvalue()


def test_what_is_left_out_is_a_row_a_reason_that_names_some_and_changes_no_exit_code() -> None:
    left = [
        SlideOutcome(name=f"study/{number}.txt", outcome=Outcome.LEFT_OUT, reason="not_a_slide")
        for number in range(2000)
    ]
    folder = SlideOutcome(name="study/.git/", outcome=Outcome.LEFT_OUT, reason="not_searched")
    outcomes = [*ended(Outcome.COMPLETED), *left, folder]
    shown = StringIO()
    Console(file=shown, width=120).print(make_table(outcomes))
    assert "0.txt, 1.txt, 2.txt, 3.txt, 4.txt and 1,995 more" in shown.getvalue()
    assert "left_out: not_a_slide (2,000)" in shown.getvalue()
    assert " .git/ " in shown.getvalue()
    assert "2002 inputs = 1 completed + 2001 left_out" in shown.getvalue()
    assert len(shown.getvalue().splitlines()) < 12
    assert choose_exit_code(outcomes) == 0


def test_the_files_of_slides_and_those_left_out_add_up() -> None:
    slide = SlideInput(location="study/a", files=("study/a/0", "study/a/1"), name="a")
    again = replace(slide, name="a-2", region=(0, 0, 9, 9))
    other = LeftOut(location="study/b.txt", reason=LeftOutReason.NOT_A_SLIDE, sentence="S.")
    assert summarise_files(Found(slides=(slide, again), left_out=(other,))) == "3 files = 2 in 2 slides + 1 left out"
