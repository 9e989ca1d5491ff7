"""Usage: what a tenant's analyses took, and what its budget is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from uuid import UUID


class UsageBy(StrEnum):
    """The key of a usage report's lines."""

    DAY = "day"
    MODEL = "model"
    PERSON = "person"


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageLine:
    """The finished shards of a day, of a model version, or of one requester. The fields of the other two are None. A
    line that was asked for by model or person and has all three None is work that the release before counted."""

    day: date | None = None
    model: str | None = None
    model_version: str | None = None
    requester: str | None = None  #: "user:<uuid>" or "key:<uuid>"
    tiles: int
    worker_seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetUse:
    """A tenant's budget and its use in this month."""

    month: date  #: its first day, in UTC
    dollars_a_month: float
    stops: bool  #: new jobs are refused once it is used
    worker_seconds: float  #: of the month's finished shards


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetNotice:
    """A mail to one admin that a share of the month's budget is used, claimed for the caller."""

    id: int
    tenant: UUID
    month: date
    percent: int
    target: str  #: address: personal data
    attempt: int
    due_at: datetime | None = None  #: of the next try; None once delivered or given up
