"""A dead letter, what it is about, and what its arrival did."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, cast
from uuid import UUID

from wsi.errors import FailReason
from wsi.records.notices import MESSAGE_SCHEMA

#: A reason that a dead letter gives to a job, and that redriving it takes back by a retry.
REDRIVEN_REASONS = (FailReason.PLANNING_FAILED, FailReason.STITCHING_FAILED, FailReason.UNDELIVERED)


class LetterOutcome(StrEnum):
    """The outcome of a dead letter's arrival. Stable: stored in SQL and printed for operators."""

    RESENT = "resent"  #: its work is sent again: it may have died of an outage, and not of itself
    ENDED = "ended"  #: the second one about the same work: the job failed, or the slide or package was rejected
    PAST = "past"  #: what it is about has moved on, or needs no message
    UNREADABLE = "unreadable"  #: no message of ours
    KEPT = "kept"  #: nobody waits for it; an operator decides

    @property
    def is_open(self) -> bool:
        """True if it waits for an operator."""
        return self in (LetterOutcome.ENDED, LetterOutcome.UNREADABLE, LetterOutcome.KEPT)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArrivedLetter:
    message_id: str  #: the queue service's; the same however often it is received
    queue: str  #: where it died, without the suffix of dead letters
    text: str  #: its body as it came
    receives: int
    sent_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LetterSubject:
    """The ids in a letter's body. All are None in one of the relay, which needs none."""

    schema: int = MESSAGE_SCHEMA
    slide_id: UUID | None = None
    job_id: UUID | None = None
    shard: int | None = None
    registration: UUID | None = None
    budget_of: UUID | None = None  #: tenant whose admins were to be told of their budget

    @property
    def is_newer(self) -> bool:
        """True if a newer release wrote it."""
        return self.schema > MESSAGE_SCHEMA


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetter:
    """A letter in the books, as an operator sees it: ids alone."""

    id: int
    queue: str
    slide_id: str | None
    job_id: str | None
    shard: int | None
    receives: int
    outcome: LetterOutcome
    sent_at: datetime | None
    arrived_at: datetime
    settled_at: datetime | None  #: when nobody had to look at it any longer
    redrive: str | None  #: what redriving it did, in a few words


def read_subject(queue: str, text: str) -> LetterSubject | None:
    """Return what a body is about; None for one that no handler of this queue can read."""
    try:
        value: Any = json.loads(text)
        if not isinstance(value, dict):
            return None
        return _read_ids(queue, cast("dict[str, Any]", value))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):  # UUID(7) has no text to read
        return None


def _read_ids(queue: str, body: dict[str, Any]) -> LetterSubject:
    schema = int(body.get("v", MESSAGE_SCHEMA))
    if queue == "wake":
        return LetterSubject(schema=schema)
    if queue == "inspect":
        return LetterSubject(schema=schema, slide_id=UUID(body["slide_id"]))
    if "budget_of" in body:
        return LetterSubject(schema=schema, budget_of=UUID(body["budget_of"]))
    if "registration" in body:
        return LetterSubject(schema=schema, registration=UUID(body["registration"]))
    shard = int(body["shard"]) if queue.startswith("shards-") else None
    return LetterSubject(schema=schema, job_id=UUID(body["job_id"]), shard=shard)


def describe_undelivered(index: int) -> str:
    return (
        f"No worker could take part {index + 1} of the slide, however often it was offered, so the job was stopped:"
        " retry it, its finished tiles are kept."
    )
