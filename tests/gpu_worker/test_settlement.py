from __future__ import annotations

import pytest

from gpu_worker.pipeline import Drained
from gpu_worker.settlement import Message, settlement
from wsi.errors import (
    FailReason,
    JobFailed,
    LeaseLost,
    ModelError,
    RejectReason,
    SlideRejected,
    SourceChanged,
    SourceMissing,
    SourceTruncated,
    SourceUnavailable,
)


def test_a_commit_deletes_the_message():
    decided = settlement(None)
    assert (decided.message, decided.release, decided.job_failure) == (Message.DELETE, False, None)


def test_a_drain_gives_back_and_counts_no_failure():
    decided = settlement(Drained())
    assert (decided.message, decided.release, decided.failed) == (Message.RETURN, True, False)


def test_a_lost_lease_is_dropped_without_a_word_to_sql():
    decided = settlement(LeaseLost("Lost."))
    assert (decided.message, decided.release, decided.job_failure) == (Message.LEAVE, False, None)


def test_a_store_that_does_not_answer_is_no_failure_of_the_shard():
    decided = settlement(SourceUnavailable("S3 does not answer."))
    assert (decided.message, decided.release, decided.failed, decided.later) == (Message.RETURN, True, False, True)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (SourceChanged("Another version."), FailReason.SLIDE_CHANGED),
        (SourceMissing("Gone."), FailReason.SLIDE_CHANGED),
        (SlideRejected(RejectReason.DAMAGED, "Damaged."), FailReason.SLIDE_REJECTED),
        (ModelError("Refused."), FailReason.MODEL_UNAVAILABLE),
        (JobFailed(FailReason.PLANNING_FAILED, "No plan."), FailReason.PLANNING_FAILED),
    ],
)
def test_what_no_attempt_can_help_fails_the_job(error, reason):
    decided = settlement(error)
    assert decided.job_failure is not None
    assert (decided.job_failure.reason, decided.message, decided.release) == (reason, Message.DELETE, False)


def test_any_other_error_counts_as_a_failure_and_hides_its_text():
    decided = settlement(FileNotFoundError("/slides/Jane Doe.svs"))
    assert (decided.message, decided.release, decided.failed) == (Message.RETURN, True, True)
    assert decided.reason == "FileNotFoundError"
    assert settlement(SourceTruncated("The file ends early.")).failed
