"""What every ledger decides alike: limits, the sentences of refusals, the bodies of messages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from wsi.errors import Conflict, FailReason, NotFound
from wsi.records.deliveries import Channel
from wsi.records.jobs import Job
from wsi.records.notices import MESSAGE_SCHEMA
from wsi.records.restatement import Restatement
from wsi.records.shards import ShardCount
from wsi.records.slides import RestoreTier, Slide
from wsi.states import JobState, SlideState

POISON_FAILURES = 3  #: in-process failures of one shard; leases that run out and releases do not count (F-5)
#: Leases of one shard that ran out in a row without a new checkpoint. A worker that a shard kills (out of memory, a
#: crash in native code) can not say so; six lost machines in a row on one shard are no accident.
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
REUSABLE: tuple[JobState, ...] = tuple(state for state in JobState if state.is_success)
LEASE_EXPIRED = "The worker's lease ran out."


def notices_of(job: Job) -> tuple[tuple[Channel, str], ...]:
    """Who hears of the job's end, as (channel, target). No mail of a cancelled job: who cancels it knows."""
    if not job.state.is_final:
        return ()
    email = job.notify_email if job.state is not JobState.CANCELLED else None
    asked = ((Channel.EMAIL, email), (Channel.WEBHOOK, job.notify_webhook))
    return tuple((channel, target) for channel, target in asked if target is not None)


def is_identified(slide: Slide) -> bool:
    """It was to be de-identified, and its files still say whom they are of."""
    return slide.deidentify and not slide.deidentified


def nameless(slide_id: UUID, suffix: str = "") -> str:
    """What a slide is called that was de-identified, or refused before it was."""
    return f"{slide_id}{suffix}"


def slide_message(slide_id: UUID) -> dict[str, Any]:
    return {"v": MESSAGE_SCHEMA, "slide_id": str(slide_id)}


def job_message(job_id: UUID) -> dict[str, Any]:
    return {"v": MESSAGE_SCHEMA, "job_id": str(job_id)}


def shard_message(job_id: UUID, index: int) -> dict[str, Any]:
    return {"v": MESSAGE_SCHEMA, "job_id": str(job_id), "shard": index}


def shard_detail(index: int, attempt: int, owner: str | None, **more: Any) -> dict[str, Any]:
    """`detail` of a job event about a shard."""
    return {"shard": index, "attempt": attempt, "owner": owner, **more}


def check_count(count: ShardCount, tiles: int) -> None:
    """Raises ValueError: tiles planned = inferred + unreadable, for every shard."""
    if count.inferred < 0 or count.unreadable < 0 or count.inferred + count.unreadable != tiles:
        raise ValueError(f"a shard of {tiles} tiles can not end with {count.inferred} + {count.unreadable}")


def poison_sentence(index: int) -> str:
    return f"Part {index + 1} of the slide failed {POISON_FAILURES} times, so the job was stopped."


def silence_sentence(index: int) -> str:
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


def no_slide() -> NotFound:
    return NotFound("There is no slide with this id.")


def no_job() -> NotFound:
    return NotFound("There is no job with this id.")


def no_model() -> NotFound:
    return NotFound("There is no model with this name and version; GET /models lists them.")


def check_readable(slide: Slide) -> None:
    """Raises Conflict unless a job may read the slide."""
    if slide.state is SlideState.DELETED:
        raise Conflict("The slide was deleted.")
    if slide.state is SlideState.REJECTED:
        raise Conflict(f"The slide can not be analysed: {slide.sentence}")
    if sentence := archive_sentence(slide):
        raise Conflict(sentence)
    if slide.state is not SlideState.READY:
        raise Conflict(f"The slide is {slide.state.value}; a job can start once it is READY.")


def archive_sentence(slide: Slide) -> str | None:
    """Of a slide that lies in the archive or comes from there: what to do, and how long it takes."""
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
    """Raises Conflict unless the slide may move to ARCHIVED, as far as its state says."""
    if slide.state is SlideState.DELETED:
        raise deleted_slide()
    if slide.state is not SlideState.READY:
        raise Conflict(f"The slide is {slide.state.value}; only a READY slide can be archived.")


def is_inspected_anew(slide: Slide, restatement: Restatement) -> bool:
    """Return True if what is stated changes what inspection finds. A REJECTED slide is inspected again for the same
    statement too: another version of this code may read it, and nothing is lost."""
    stated = restatement.applied(slide)
    if (stated.mpp, stated.choice) != (slide.mpp, slide.choice):
        return True
    return slide.state is SlideState.REJECTED and restatement.is_about_pixels


def check_restatable(slide: Slide, now: datetime) -> None:
    """Raises Conflict unless the slide may move back to UPLOADED, as far as its record says."""
    if slide.state is SlideState.UPLOADING:
        raise Conflict("The slide is still being uploaded: complete the upload, then state what its files do not say.")
    if slide.state is SlideState.UPLOADED:
        raise Conflict("The slide is being inspected. Wait until it is READY or REJECTED, then send this again.")
    if sentence := archive_sentence(slide):
        raise Conflict(sentence)
    if slide.state is SlideState.REJECTED and is_identified(slide):
        raise Conflict(
            "The slide's files were deleted, since it was to be de-identified and could not be: upload it again, and "
            "state this with the upload."
        )
    if slide.state is SlideState.REJECTED and slide.restored_until is not None and slide.restored_until <= now:
        raise Conflict("The slide's files went back to the archive after it was rejected: upload it again.")


def check_restorable(slide: Slide) -> None:
    """Raises Conflict unless the slide may move to RESTORING."""
    if slide.state is SlideState.DELETED:
        raise deleted_slide()
    if slide.state is not SlideState.ARCHIVED:
        raise Conflict(f"The slide is {slide.state.value}; only an ARCHIVED slide can be restored.")


def deleted_slide() -> Conflict:
    return Conflict("The slide was deleted; upload it again.")


def slide_in_use() -> Conflict:
    return Conflict("A job is running on this slide; cancel it first, or wait until it ends.")


def slide_changed() -> Conflict:
    return Conflict("The slide changed while the job was being made: send the request again.")


def other_body() -> Conflict:
    return Conflict("This Idempotency-Key came before with another request; use a new key.")


def already_final(job: Job) -> Conflict:
    return Conflict(f"The job is {job.state.value} and can not be cancelled any more.")


def other_model_digest() -> Conflict:
    return Conflict("This version is registered with another package; versions never change, so register a new one.")
