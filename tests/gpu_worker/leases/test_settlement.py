from __future__ import annotations

import errno
from typing import Any

import pytest

from gpu_worker.leases.settlement import MessageAction, Settlement, ShardOutcome, decide_settlement
from inference.shard_run import Drained
from wsi.errors import (
    DeviceLost,
    FailReason,
    JobFailed,
    LeaseLost,
    LedgerUnavailable,
    ModelError,
    ModelFailed,
    NewerSchema,
    RejectReason,
    SlideRejected,
    SourceChanged,
    SourceMissing,
    SourceOutside,
    SourceTruncated,
    SourceUnavailable,
    Stuck,
    UnsuitableDevice,
)

AWAY = (ShardOutcome.UNAVAILABLE, MessageAction.RETURN, "source_unavailable", {"release", "later"})
#: error -> outcome, what happens to the message, code in the metrics, and every flag that is set.
SETTLED: tuple[tuple[Exception | None, ShardOutcome, MessageAction, str, set[str]], ...] = (
    (None, ShardOutcome.COMMITTED, MessageAction.DELETE, "", set()),
    (Drained(), ShardOutcome.DRAINED, MessageAction.RETURN, "", {"release"}),
    (LeaseLost("Lost."), ShardOutcome.LOST, MessageAction.LEAVE, "lease_lost", set()),
    (SourceUnavailable("Away."), *AWAY),
    (
        LedgerUnavailable("It hung up."),
        ShardOutcome.UNAVAILABLE,
        MessageAction.RETURN,
        "ledger_unavailable",
        {"release", "later"},
    ),
    (
        UnsuitableDevice("Too small."),
        ShardOutcome.UNSUITABLE,
        MessageAction.RETURN,
        "unsuitable_gpu",
        {"release", "refuse"},
    ),
    (NewerSchema("Newer."), ShardOutcome.NEWER, MessageAction.RETURN, "newer_schema", {"release", "refuse_job"}),
    (DeviceLost("Gone."), ShardOutcome.DEVICE, MessageAction.RETURN, "device_lost", {"release", "leave"}),
    (Stuck("Silent."), ShardOutcome.STUCK, MessageAction.RETURN, "stuck", {"release", "failed"}),
    (SourceTruncated("Ends."), ShardOutcome.FAILED, MessageAction.RETURN, "source_truncated", {"release", "failed"}),
    (OSError(errno.ENOSPC, "No space", "/scratch/Jane Doe.scn"), *AWAY),
    (OSError(errno.EDQUOT, "Quota", "/scratch/Jane Doe.scn"), *AWAY),
    (OSError("/slides/Jane Doe.svs"), ShardOutcome.FAILED, MessageAction.RETURN, "internal", {"release", "failed"}),
    (ModelError("Refused."), ShardOutcome.JOB_FAILED, MessageAction.DELETE, "model_error", set()),
)


def flags(decided: Settlement) -> set[str]:
    every: tuple[str, ...] = ("release", "failed", "later", "refuse", "refuse_job", "leave")
    return {name for name in every if getattr(decided, name)}


@pytest.mark.parametrize(
    ("error", "outcome", "message", "code", "set_flags"), SETTLED, ids=lambda one: getattr(one, "value", None)
)
def test_each_end_of_a_shard_is_settled(error: Any, outcome: Any, message: Any, code: Any, set_flags: Any):
    decided = decide_settlement(error)
    assert (decided.outcome, decided.message, decided.code) == (outcome, message, code)
    assert flags(decided) == set_flags
    assert (decided.job_failure is not None) == (outcome is ShardOutcome.JOB_FAILED)


def test_every_outcome_can_come():
    assert {outcome for _, outcome, *_ in SETTLED} == set(ShardOutcome)


def test_a_device_that_is_too_small_is_told_by_its_code_in_the_history():
    assert decide_settlement(UnsuitableDevice("The batch of 64 needs 30 GB.")).reason == "unsuitable_gpu"


def test_the_stage_that_hung_is_told_in_the_history():
    assert decide_settlement(Stuck("Nothing went forward in decode.")).reason == "Nothing went forward in decode."


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (SourceChanged("Another version."), FailReason.SLIDE_CHANGED),
        (SourceMissing("Gone."), FailReason.SLIDE_CHANGED),
        (SourceOutside("Ask."), FailReason.SLIDE_UNREADABLE),
        (SlideRejected(RejectReason.DAMAGED, "Damaged."), FailReason.SLIDE_REJECTED),
        (ModelError("Refused."), FailReason.MODEL_UNAVAILABLE),
        (ModelFailed("Broke off."), FailReason.MODEL_FAILED),
        (JobFailed(FailReason.PLANNING_FAILED, "No plan."), FailReason.PLANNING_FAILED),
    ],
)
def test_what_no_attempt_can_help_fails_the_job(error, reason):
    decided = decide_settlement(error)
    assert decided.job_failure is not None
    assert (decided.job_failure.reason, decided.message, decided.release) == (reason, MessageAction.DELETE, False)


def test_a_foreign_error_hides_its_text():
    assert decide_settlement(FileNotFoundError("/slides/Jane Doe.svs")).reason == "FileNotFoundError"
