"""What becomes of a lease and its message once the work on it has ended. Pure: the worker carries it out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from gpu_worker.pipeline import Drained
from wsi.errors import (
    DeviceLost,
    FailReason,
    JobFailed,
    LeaseLost,
    ModelError,
    ModelFailed,
    SlideRejected,
    SourceChanged,
    SourceMissing,
    SourceUnavailable,
    Stuck,
    TesseraError,
    UnsuitableDevice,
)


class Message(StrEnum):
    DELETE = "delete"  #: the work is settled
    RETURN = "return"  #: visible to others at once
    LEAVE = "leave"  #: whoever holds the lease now has its own; ours comes back and is refused


class Outcome(StrEnum):
    """For the metrics, which say what each means: `adapters.settings.worker_metrics.SHARDS`."""

    COMMITTED = "committed"
    DRAINED = "drained"
    UNAVAILABLE = "unavailable"
    UNSUITABLE = "unsuitable"
    DEVICE = "device"
    LOST = "lost"
    STUCK = "stuck"
    FAILED = "failed"
    JOB_FAILED = "job_failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settlement:
    outcome: Outcome
    message: Message
    release: bool = False  #: RUNNING -> QUEUED
    failed: bool = False  #: the release counts as an in-process failure; the third one is poison
    later: bool = False  #: wait a moment before the release: the cause lies outside and will pass
    refuse: bool = False  #: this worker takes no more shards of the model (`gpu_worker.refusals`)
    leave: bool = False  #: this worker ends, and not with success
    job_failure: JobFailed | None = None  #: no attempt can help
    reason: str = ""  #: goes into the history; never holds a file name
    code: str = ""  #: stable, of the error; for the metrics


def settlement(error: Exception | None) -> Settlement:
    """`error`: what ended the work; None: it was committed."""
    match error:
        case None:
            return Settlement(outcome=Outcome.COMMITTED, message=Message.DELETE)
        case Drained():
            return Settlement(
                outcome=Outcome.DRAINED, message=Message.RETURN, release=True, reason="the worker is leaving"
            )
        case LeaseLost():
            return Settlement(outcome=Outcome.LOST, message=Message.LEAVE, reason=error.sentence, code=error.code)
        case SourceUnavailable():
            return replace(_returned(Outcome.UNAVAILABLE, error), later=True)
        case UnsuitableDevice():
            return replace(_returned(Outcome.UNSUITABLE, error), refuse=True, reason=error.code)
        case DeviceLost():
            return replace(_returned(Outcome.DEVICE, error), leave=True)
        case JobFailed() | SourceChanged() | SourceMissing() | SlideRejected() | ModelError():
            failure = _job_failure(error)
            return Settlement(
                outcome=Outcome.JOB_FAILED,
                message=Message.DELETE,
                job_failure=failure,
                reason=failure.sentence,
                code=error.code,
            )
        case Stuck():
            return replace(_returned(Outcome.STUCK, error), failed=True)
        case TesseraError():
            return replace(_returned(Outcome.FAILED, error), failed=True)
        case _:
            # The text of a foreign exception may hold a path; its type does not.
            unknown = TesseraError(type(error).__name__)
            return replace(_returned(Outcome.FAILED, unknown), failed=True)


def _returned(outcome: Outcome, error: TesseraError) -> Settlement:
    return Settlement(outcome=outcome, message=Message.RETURN, release=True, reason=error.sentence, code=error.code)


def _job_failure(error: JobFailed | SourceChanged | SourceMissing | SlideRejected | ModelError) -> JobFailed:
    match error:
        case JobFailed():
            return error
        case SlideRejected():
            return JobFailed(FailReason.SLIDE_REJECTED, error.sentence)
        case ModelFailed():
            return JobFailed(FailReason.MODEL_FAILED, error.sentence)
        case ModelError():
            return JobFailed(FailReason.MODEL_UNAVAILABLE, error.sentence)
        case SourceChanged() | SourceMissing():
            return JobFailed(
                FailReason.SLIDE_CHANGED,
                "The slide's file was replaced or deleted after the analysis was planned: ask for the analysis again.",
            )
