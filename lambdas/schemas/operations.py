"""Answers to operators about sources, retention and dead letters."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from lambdas.schemas.common import Answer


class SourceAnswer(Answer):
    bucket: str
    prefix: str = Field(description="Of keys, with a slash at its end. Empty: the whole bucket.")


class SourceList(Answer):
    items: list[SourceAnswer]


class RemovedSourceAnswer(Answer):
    removed: bool = Field(description="Whether the tenant had it.")


class RetentionAnswer(Answer):
    """Days after which the sweep deletes. null: never for its age."""

    slide_days: int | None = Field(description="Since a slide was made.")
    result_days: int | None = Field(description="Since a job ended.")
    key_days: int | None = Field(description="Since a request had an Idempotency-Key.")


class DeadLetterAnswer(Answer):
    id: int
    queue: str
    slide_id: UUID | None
    job_id: UUID | None
    shard: int | None
    receives: int = Field(description="How often the message was received before it was given up.")
    outcome: str = Field(description="What its arrival did.")
    sent_at: datetime | None
    arrived_at: datetime
    settled_at: datetime | None
    redrive: str | None = Field(description="What redriving it did.")


class DeadLetterList(Answer):
    items: list[DeadLetterAnswer]
