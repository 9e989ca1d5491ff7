"""Rules that all ledgers share: limits, the messages of refusals, the bodies of queue messages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from wsi.errors import Conflict, FailReason, NotFound
from wsi.records.deliveries import NoticeChannel
from wsi.records.jobs import Job, JobTerms, Priority
from wsi.records.notices import MESSAGE_SCHEMA
from wsi.records.restatement import Restatement
from wsi.records.shards import ShardCount
from wsi.records.slides import RestoreTier, Slide
from wsi.states import JobState, SlideState
from wsi.tracing import JOINED_AGE, make_traceparent

POISON_FAILURES = 3  #: in-process failures of one shard; leases that run out and releases do not count (F-5)
#: Leases of one shard that ran out in a row without a new checkpoint. A worker that a shard kills (out of memory, a
#: crash in native code) cannot say so; six lost machines in a row on one shard are no accident.
POISON_SILENCES = 6
PUSH_SECONDS = 1.0  #: least time between two pushes of a job's progress
NOTICE_WAKE_SECONDS = 300.0  #: least time between two messages about a job's notices that are due
SECRET_GRACE_SECONDS = 86_400.0  #: how long webhooks are signed with the last secret too
RATE_SECONDS = 60.0  #: how long a worker's last reported rate counts towards its job's
#: A retry takes over shards that are no older: the bucket removes their results after twice the time, so that they
#: are still there when the retry is stitched.
TAKE_OVER_DAYS = 14
SENT_DAYS = 7  #: how long a sent outbox row is kept
#: How long an update for subscribers is tried to be sent. By then each of them has read the API a thousand times; a
#: message for a queue is never dropped, since it is the only one that tells of its work before the sweep does.
PUSH_DAYS = 1

#: The queue that hears of a job when it comes into this state.
ENTRY_TOPIC: Mapping[JobState, str] = {JobState.QUEUED: "plan", JobState.STITCHING: "stitch"}
#: The queue that hears again of a job that is stuck in this state; a planner enters PLANNING itself, and may die in it.
STUCK_TOPIC: Mapping[JobState, str] = {**ENTRY_TOPIC, JobState.PLANNING: "plan"}
#: The queues that a message about a job can lie in, by the topic of its state.
QUEUES_OF_TOPIC: Mapping[str, tuple[str, str]] = {"plan": ("plan", "heavy"), "stitch": ("stitch", "heavy")}
REUSABLE: tuple[JobState, ...] = tuple(state for state in JobState if state.is_success)
ERASED_SENTENCE = "The job was deleted."  #: in place of why a deleted job failed
LEASE_EXPIRED = "The worker's lease ran out."


def select_receivers(job: Job) -> tuple[tuple[NoticeChannel, str], ...]:
    """Return who is notified of the job's end, as (channel, target). A cancelled job sends no e-mail: its canceller
    knows."""
    if not job.state.is_final:
        return ()
    email = job.notify_email if job.state is not JobState.CANCELLED else None
    asked = ((NoticeChannel.EMAIL, email), (NoticeChannel.WEBHOOK, job.notify_webhook))
    return tuple((channel, target) for channel, target in asked if target is not None)


def select_followers(job: Job, asked: JobTerms) -> tuple[tuple[NoticeChannel, str], ...]:
    """Return who else is told of the job's end, as (channel, target), after `asked` was answered with it."""
    targets = (
        (NoticeChannel.EMAIL, asked.notify_email, job.notify_email),
        (NoticeChannel.WEBHOOK, asked.notify_webhook, job.notify_webhook),
    )
    return tuple((channel, target) for channel, target, known in targets if target is not None and target != known)


def needs_higher_priority(job: Job, asked: JobTerms) -> bool:
    """Return whether a request that is answered with the job asks for a more urgent one."""
    by_urgency = tuple(Priority)
    return by_urgency.index(asked.priority) < by_urgency.index(job.priority)


def needs_deidentification(slide: Slide) -> bool:
    """Return whether the slide must be de-identified and its files still name the patient."""
    return slide.deidentify and not slide.deidentified


def make_anonymous_name(slide_id: UUID, suffix: str = "") -> str:
    """Return the name of a slide that was de-identified, or was refused before it could be."""
    return f"{slide_id}{suffix}"


def choose_inspection_trace(slide: Slide, now: datetime) -> str:
    """Return the traceparent of an inspection: the slide's own, or a new one if the slide is too old for it."""
    if slide.traceparent is None or now - slide.created_at > JOINED_AGE:
        return make_traceparent()
    return slide.traceparent


def make_slide_message(slide_id: UUID) -> dict[str, Any]:
    return {"v": MESSAGE_SCHEMA, "slide_id": str(slide_id)}


def make_job_message(job_id: UUID) -> dict[str, Any]:
    return {"v": MESSAGE_SCHEMA, "job_id": str(job_id)}


def make_shard_message(job_id: UUID, index: int) -> dict[str, Any]:
    return {"v": MESSAGE_SCHEMA, "job_id": str(job_id), "shard": index}


def make_shard_detail(index: int, attempt: int, owner: str | None, **more: Any) -> dict[str, Any]:
    """Return the `detail` of a job event about a shard."""
    return {"shard": index, "attempt": attempt, "owner": owner, **more}


def check_count(count: ShardCount, tiles: int) -> None:
    """Raise ValueError unless a shard's inferred and unreadable tiles, none of them negative, add up to `tiles`."""
    if count.inferred < 0 or count.unreadable < 0 or count.inferred + count.unreadable != tiles:
        raise ValueError(f"a shard of {tiles} tiles cannot end with {count.inferred} + {count.unreadable}")


def describe_poison(index: int) -> str:
    return f"Part {index + 1} of the slide failed {POISON_FAILURES} times, so the job was stopped."


def describe_silence(index: int) -> str:
    return f"Part {index + 1} of the slide ended its worker {POISON_SILENCES} times, so the job was stopped."


_UNPLANNED = (FailReason.PLANNING_FAILED, "The job could not be planned in several tries: ask for it again.")
_UNSTITCHED = (
    FailReason.STITCHING_FAILED,
    "The results could not be put together in several tries: retry the job, its finished tiles are kept.",
)
#: What ends a job that its function could not move: said by the function at its last try, or by the sweep when it dies
#: each time before it can say so.
GIVEN_UP: Mapping[JobState, tuple[FailReason, str]] = {
    JobState.QUEUED: _UNPLANNED,
    JobState.PLANNING: _UNPLANNED,
    JobState.STITCHING: _UNSTITCHED,
}
UNINSPECTED_SENTENCE = "The slide could not be inspected in several tries: it may be damaged. Export it again."


def make_unknown_slide_error() -> NotFound:
    return NotFound("There is no slide with this id.")


def make_unknown_job_error() -> NotFound:
    return NotFound("There is no job with this id.")


def make_unknown_model_error() -> NotFound:
    return NotFound("There is no model with this name and version; GET /models lists them.")


def check_readable(slide: Slide) -> None:
    """Raise Conflict unless a job may read the slide."""
    if slide.state is SlideState.DELETED:
        raise Conflict("The slide was deleted.")
    if slide.state is SlideState.REJECTED:
        raise Conflict(f"The slide cannot be analysed: {slide.sentence}")
    if sentence := describe_archive(slide):
        raise Conflict(sentence)
    if slide.state is not SlideState.READY:
        raise Conflict(f"The slide is {slide.state.value}; a job can start once it is READY.")


def describe_archive(slide: Slide) -> str | None:
    """Return the message for a slide that is archived or being restored: what to do, and how long it takes. Return None
    for any other slide."""
    if slide.state is SlideState.ARCHIVED:
        standard, bulk = RestoreTier.STANDARD, RestoreTier.BULK
        return (
            f"The slide is archived: restore it with POST /slides/{slide.id}/restore, which takes up to "
            f"{standard.hours} hours, or for less money with the tier {bulk.value} up to {bulk.hours} hours."
        )
    if slide.state is SlideState.RESTORING and slide.restore_tier is not None:
        return (
            f"The slide is being restored, which takes up to {slide.restore_tier.hours} hours from when it was asked "
            "for; a job can start once it is READY."
        )
    return None


def check_archivable(slide: Slide) -> None:
    """Raise Conflict unless the slide may move to ARCHIVED, as far as its state says."""
    if slide.state is SlideState.DELETED:
        raise make_deleted_slide_error()
    if slide.state is not SlideState.READY:
        raise Conflict(f"The slide is {slide.state.value}; only a READY slide can be archived.")


def needs_reinspection(slide: Slide, restatement: Restatement) -> bool:
    """Return True if the restatement changes what inspection finds. A REJECTED slide is inspected again for the same
    statement too: another version of this code may read it, and nothing is lost."""
    stated = restatement.apply_to(slide)
    if (stated.mpp, stated.choice) != (slide.mpp, slide.choice):
        return True
    return slide.state is SlideState.REJECTED and restatement.is_about_pixels


def check_restatable(slide: Slide, now: datetime) -> None:
    """Raise Conflict unless the slide may move back to UPLOADED, as far as its record says."""
    if slide.state is SlideState.UPLOADING:
        raise Conflict("The slide is still being uploaded: complete the upload, then state what its files do not say.")
    if slide.state is SlideState.UPLOADED:
        raise Conflict("The slide is being inspected. Wait until it is READY or REJECTED, then send this again.")
    if sentence := describe_archive(slide):
        raise Conflict(sentence)
    if slide.state is SlideState.REJECTED and needs_deidentification(slide):
        raise Conflict(
            "The slide's files were deleted, since it was to be de-identified and could not be: upload it again, and "
            "state this with the upload."
        )
    if slide.state is SlideState.REJECTED and slide.restored_until is not None and slide.restored_until <= now:
        raise Conflict("The slide's files went back to the archive after it was rejected: upload it again.")


def check_restorable(slide: Slide) -> None:
    """Raise Conflict unless the slide may move to RESTORING."""
    if slide.state is SlideState.DELETED:
        raise make_deleted_slide_error()
    if slide.state is not SlideState.ARCHIVED:
        raise Conflict(f"The slide is {slide.state.value}; only an ARCHIVED slide can be restored.")


def make_deleted_slide_error() -> Conflict:
    return Conflict("The slide was deleted; upload it again.")


def check_unheld(slide: Slide) -> None:
    """Raise Conflict while a legal hold keeps the slide and its jobs."""
    if slide.legal_hold:
        raise Conflict(
            "The slide is under legal hold: neither it nor its jobs can be deleted until an admin ends the hold."
        )


def check_holdable(slide: Slide) -> None:
    """Raise Conflict unless a legal hold may begin: once the slide is inspected, nothing but a deletion removes its
    files."""
    if slide.state is SlideState.DELETED:
        raise make_deleted_slide_error()
    if slide.state in (SlideState.UPLOADING, SlideState.UPLOADED):
        raise Conflict("The slide is not inspected yet. Wait until it is READY or REJECTED, then hold it.")


def check_ended(job: Job) -> None:
    """Raise Conflict unless the job has ended."""
    if not job.state.is_final:
        raise Conflict(f"The job is {job.state.value}; cancel it first, or wait until it ends.")


def make_deleted_job_error() -> NotFound:
    return NotFound("The job was deleted, with its results.")


def make_continued_job_error() -> Conflict:
    return Conflict("A job that runs takes over finished parts of this one; cancel it first, or wait until it ends.")


def make_slide_in_use_error() -> Conflict:
    return Conflict("A job is running on this slide; cancel it first, or wait until it ends.")


def make_slide_changed_error() -> Conflict:
    return Conflict("The slide changed while the job was being made: send the request again.")


def make_reused_key_error() -> Conflict:
    return Conflict("This Idempotency-Key came before with another request; use a new key.")


def make_final_job_error(job: Job) -> Conflict:
    return Conflict(f"The job is {job.state.value} and cannot be cancelled any more.")


def make_other_digest_error() -> Conflict:
    return Conflict("This version is registered with another package; versions never change, so register a new one.")
