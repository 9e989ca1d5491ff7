"""One slide's error is that slide's outcome, and nobody else's."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tessera.local_run.batch import choose_folders, run_batch
from tessera.local_run.inputs import SlideInput
from tessera.local_run.outcomes import Outcome, SlideOutcome
from wsi.errors import FailReason, JobFailed, ModelError, RejectReason, SlideRejected, SourceMissing

SLIDES = tuple(SlideInput(location=f"{name}.svs", name=name) for name in "abc")


def done(slide: SlideInput) -> SlideOutcome:
    return SlideOutcome(name=slide.name, outcome=Outcome.COMPLETED)


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        (SlideRejected(RejectReason.NO_MPP, "S."), Outcome.REJECTED, "no_mpp"),
        (SourceMissing("S."), Outcome.REJECTED, "source_missing"),
        (JobFailed(FailReason.STITCHING_FAILED, "S."), Outcome.FAILED, "stitching_failed"),
        (ModelError("S."), Outcome.FAILED, "model_error"),
    ],
)
def test_a_typed_error_becomes_its_outcome(error: Exception, outcome: Outcome, reason: str, tmp_path: Path) -> None:
    def run(slide: SlideInput) -> SlideOutcome:
        if slide.name == "b":
            raise error
        return done(slide)

    seen: list[SlideOutcome] = []
    outcomes = run_batch(SLIDES, run, folder_of=choose_folders(SLIDES, tmp_path), on_outcome=seen.append)
    assert [each.outcome for each in outcomes] == [Outcome.COMPLETED, outcome, Outcome.COMPLETED]
    assert (outcomes[1].reason, outcomes[1].sentence) == (reason, "S.")
    assert tuple(seen) == outcomes
    assert not list(tmp_path.rglob("error.log"))


def test_an_unexpected_error_leaves_its_traceback_beside_the_results(tmp_path: Path) -> None:
    def run(slide: SlideInput) -> SlideOutcome:
        if slide.name == "b":
            raise ZeroDivisionError("of this slide")
        return done(slide)

    outcomes = run_batch(SLIDES, run, folder_of=choose_folders(SLIDES, tmp_path), on_outcome=lambda outcome: None)
    assert outcomes[1].outcome is Outcome.FAILED
    assert outcomes[1].reason == "ZeroDivisionError"
    assert "ZeroDivisionError: of this slide" in (tmp_path / "b/error.log").read_text()
    run_batch(SLIDES, done, folder_of=choose_folders(SLIDES, tmp_path), on_outcome=lambda outcome: None)
    assert not (tmp_path / "b/error.log").exists()


def test_a_full_disk_is_told_in_words_and_leaves_no_log(tmp_path: Path) -> None:
    def run(slide: SlideInput) -> SlideOutcome:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    outcomes = run_batch(SLIDES[:1], run, folder_of=choose_folders(SLIDES, tmp_path), on_outcome=lambda outcome: None)
    assert (outcomes[0].outcome, outcomes[0].reason) == (Outcome.FAILED, "disk_full")
    assert outcomes[0].sentence == "The disk is full: free some space and run the same command again."
    assert not list(tmp_path.iterdir())


def test_a_log_that_can_not_be_written_does_not_stop_the_rest(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("a file where the folder should be")

    def run(slide: SlideInput) -> SlideOutcome:
        if slide.name == "b":
            raise ZeroDivisionError("of this slide")
        return done(slide)

    outcomes = run_batch(SLIDES, run, folder_of=choose_folders(SLIDES, tmp_path), on_outcome=lambda outcome: None)
    assert [each.outcome for each in outcomes] == [Outcome.COMPLETED, Outcome.FAILED, Outcome.COMPLETED]


def test_an_interruption_is_no_slides_fault(tmp_path: Path) -> None:
    def run(slide: SlideInput) -> SlideOutcome:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_batch(SLIDES, run, folder_of=choose_folders(SLIDES, tmp_path), on_outcome=lambda outcome: None)


def test_one_slide_lies_in_the_folder_itself_and_several_by_name(tmp_path: Path) -> None:
    assert choose_folders(SLIDES[:1], tmp_path)(SLIDES[0]) == tmp_path
    assert choose_folders(SLIDES, tmp_path)(SLIDES[0]) == tmp_path / "a"
