"""Decides what becomes of a lease and its message once its work has ended. It is pure: the settler carries it out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from inference.shard_run import Drained
from wsi.errors import (
    FULL_DISK,
    DeviceLost,
    FailReason,
    JobFailed,
    LeaseLost,
    LedgerUnavailable,
    ModelError,
    ModelFailed,
    NewerSchema,
    SlideRejected,
    SourceChanged,
    SourceMissing,
    SourceOutside,
    SourceUnavailable,
    Stuck,
    TesseraError,
    UnsuitableDevice,
)


class MessageAction(StrEnum):
    """An action on a message."""

    DELETE = "delete"  #: the work is settled
    RETURN = "return"  #: visible to others at once
    LEAVE = "leave"  #: the present holder of the lease has its own; ours is delivered again and refused


class ShardOutcome(StrEnum):
    """The end of the work on a shard, for the metrics: `adapters.settings.worker_metrics.SHARDS` explains each."""

    COMMITTED = "committed"
    DRAINED = "drained"
    UNAVAILABLE = "unavailable"
    UNSUITABLE = "unsuitable"
    DEVICE = "device"
    NEWER = "newer"
    LOST = "lost"
    STUCK = "stuck"
    FAILED = "failed"
    JOB_FAILED = "job_failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settlement:
    """A decision on a lease and its message."""

    outcome: ShardOutcome
    message: MessageAction
    release: bool = False  #: RUNNING -> QUEUED
    failed: bool = False  #: the release counts as an in-process failure; the third one is poison
    later: bool = False  #: wait a moment before the release: the cause is external and temporary
    refuse: bool = False  #: this worker takes no more shards of the model (`gpu_worker.refusals`)
    refuse_job: bool = False  #: this worker takes no more shards of the job
    leave: bool = False  #: this worker exits, with an error
    job_failure: JobFailed | None = None  #: no attempt can help
    reason: str = ""  #: goes into the history; never holds a file name
    code: str = ""  #: stable, of the error; for the metrics


def decide_settlement(error: Exception | None) -> Settlement:
    """Decide what to do after `error` ended the work; None if it was committed."""
    match error:
        case None:
            return Settlement(outcome=ShardOutcome.COMMITTED, message=MessageAction.DELETE)
        case Drained():
            return Settlement(
                outcome=ShardOutcome.DRAINED, message=MessageAction.RETURN, release=True, reason="the worker is leaving"
            )
        case LeaseLost():
            return Settlement(
                outcome=ShardOutcome.LOST, message=MessageAction.LEAVE, reason=error.sentence, code=error.code
            )
        case SourceUnavailable() | LedgerUnavailable():
            return replace(_return_shard(ShardOutcome.UNAVAILABLE, error), later=True)
        case OSError(errno=number) if number in FULL_DISK:  # of this machine, so no fault of the shard
            full = SourceUnavailable("The worker's disk is full.")
            return replace(_return_shard(ShardOutcome.UNAVAILABLE, full), later=True)
        case UnsuitableDevice():
            return replace(_return_shard(ShardOutcome.UNSUITABLE, error), refuse=True, reason=error.code)
        case NewerSchema():
            return replace(_return_shard(ShardOutcome.NEWER, error), refuse_job=True, reason=error.code)
        case DeviceLost():
            return replace(_return_shard(ShardOutcome.DEVICE, error), leave=True)
        case JobFailed() | SourceChanged() | SourceMissing() | SourceOutside() | SlideRejected() | ModelError():
            failure = _job_failure(error)
            return Settlement(
                outcome=ShardOutcome.JOB_FAILED,
                message=MessageAction.DELETE,
                job_failure=failure,
                reason=failure.sentence,
                code=error.code,
            )
        case Stuck():
            return replace(_return_shard(ShardOutcome.STUCK, error), failed=True)
        case TesseraError():
            return replace(_return_shard(ShardOutcome.FAILED, error), failed=True)
        case _:
            # The text of a foreign exception may hold a path; its type does not.
            unknown = TesseraError(type(error).__name__)
            return replace(_return_shard(ShardOutcome.FAILED, unknown), failed=True)


def _return_shard(outcome: ShardOutcome, error: TesseraError) -> Settlement:
    return Settlement(
        outcome=outcome, message=MessageAction.RETURN, release=True, reason=error.sentence, code=error.code
    )


def _job_failure(
    error: JobFailed | SourceChanged | SourceMissing | SourceOutside | SlideRejected | ModelError,
) -> JobFailed:
    match error:
        case JobFailed():
            return error
        case SlideRejected():
            return JobFailed(FailReason.SLIDE_REJECTED, error.sentence)
        case ModelFailed():
            return JobFailed(FailReason.MODEL_FAILED, error.sentence)
        case ModelError():
            return JobFailed(FailReason.MODEL_UNAVAILABLE, error.sentence)
        case SourceOutside():
            return JobFailed(FailReason.SLIDE_UNREADABLE, error.sentence)
        case SourceChanged() | SourceMissing():
            return JobFailed(
                FailReason.SLIDE_CHANGED,
                "The slide's file was replaced or deleted after the analysis was planned: ask for the analysis again.",
            )
