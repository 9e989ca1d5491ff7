"""What becomes of a lease and its message once the work on it has ended. Pure: the worker carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpu_worker.pipeline import Drained
from wsi.errors import (
    FailReason,
    JobFailed,
    LeaseLost,
    ModelError,
    SlideRejected,
    SourceChanged,
    SourceMissing,
    SourceUnavailable,
    TesseraError,
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
    LOST = "lost"
    FAILED = "failed"
    JOB_FAILED = "job_failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settlement:
    outcome: Outcome
    message: Message
    release: bool = False  #: RUNNING -> QUEUED
    failed: bool = False  #: the release counts as an in-process failure; the third one is poison
    later: bool = False  #: wait a moment before the release: the cause lies outside and will pass
    job_failure: JobFailed | None = None  #: no attempt can help
    reason: str = ""  #: goes into the history; never holds a file name


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
            return Settlement(outcome=Outcome.LOST, message=Message.LEAVE, reason=error.sentence)
        case SourceUnavailable():
            return Settlement(
                outcome=Outcome.UNAVAILABLE, message=Message.RETURN, release=True, later=True, reason=error.sentence
            )
        case JobFailed() | SourceChanged() | SourceMissing() | SlideRejected() | ModelError():
            failure = _job_failure(error)
            return Settlement(
                outcome=Outcome.JOB_FAILED, message=Message.DELETE, job_failure=failure, reason=failure.sentence
            )
        case TesseraError():
            return _failed(error.sentence)
        case _:
            # The text of a foreign exception may hold a path; its type does not.
            return _failed(type(error).__name__)


def _failed(reason: str) -> Settlement:
    return Settlement(outcome=Outcome.FAILED, message=Message.RETURN, release=True, failed=True, reason=reason)


def _job_failure(error: JobFailed | SourceChanged | SourceMissing | SlideRejected | ModelError) -> JobFailed:
    match error:
        case JobFailed():
            return error
        case SlideRejected():
            return JobFailed(FailReason.SLIDE_REJECTED, error.sentence)
        case ModelError():
            return JobFailed(FailReason.MODEL_UNAVAILABLE, error.sentence)
        case SourceChanged() | SourceMissing():
            return JobFailed(
                FailReason.SLIDE_CHANGED,
                "The slide's file was replaced or deleted after the analysis was planned: ask for the analysis again.",
            )
