"""A notice on its way to one person or service, and the outcome of its tries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from wsi.records.jobs import Job


class NoticeChannel(StrEnum):
    EMAIL = "email"
    WEBHOOK = "webhook"


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """A notice of a job to one receiver, unique by (job, version, channel, target)."""

    id: int
    tenant: UUID
    job_id: UUID
    job_version: int
    channel: NoticeChannel
    target: str  #: address or URL: personal data
    attempt: int = 0  #: tries begun
    status: int | None = None  #: what the receiver of the last try answered
    error: str | None = None  #: why the last try failed, one sentence
    due_at: datetime | None = None  #: of the next try; None once delivered or given up
    delivered_at: datetime | None = None
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeBrief:
    """A job and its notices that are due, claimed for the caller."""

    job: Job
    deliveries: tuple[Delivery, ...]
    secrets: tuple[str, ...]  #: of the tenant's webhooks, newest first; empty without a webhook
