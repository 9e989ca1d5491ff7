"""Checks of quotas that all ledgers share: what is refused, the sentence, and when to ask again."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from wsi.errors import Forbidden, TooManyRequests
from wsi.records.jobs import Priority
from wsi.records.quotas import Quotas

#: s after which to ask again where nobody knows when the limit is free: jobs begin within minutes, and uploads end and
#: slides are deleted when people do it.
JOBS_RETRY_SECONDS = 60
UPLOADS_RETRY_SECONDS = 300
BYTES_RETRY_SECONDS = 3_600


def check_priority(quotas: Quotas, asked: Priority) -> None:
    """Raise Forbidden if the tenant's members may not ask for such an urgent job."""
    by_urgency = tuple(Priority)
    top = quotas.top_priority
    if top is not None and by_urgency.index(asked) < by_urgency.index(top):
        raise Forbidden(
            f"Your organisation may not ask for priority {asked.value}: ask for {top.value}, or have your operator"
            " allow it."
        )


def check_budget(quotas: Quotas, *, dollars: float, now: datetime) -> None:
    """Raise TooManyRequests if the month's budget is used and the tenant is to stop there."""
    budget = quotas.dollars_a_month
    if budget is not None and quotas.stops_at_budget and dollars >= budget:
        today = now.astimezone(UTC).date()
        next_month = datetime(today.year + today.month // 12, today.month % 12 + 1, 1, tzinfo=UTC)
        raise TooManyRequests(
            f"Your organisation's budget of {budget:,.2f} dollars a month is used: this month's analyses took"
            f" {dollars:,.2f}; new ones start again next month, or once your operator raises the budget.",
            retry_seconds=math.ceil((next_month - now).total_seconds()),
        )


def check_jobs_waiting(quotas: Quotas, waiting: int) -> None:
    """Raise TooManyRequests if one more job would wait than the tenant may have."""
    if quotas.jobs_waiting is not None and waiting >= quotas.jobs_waiting:
        raise TooManyRequests(
            f"Your organisation's limit of {quotas.jobs_waiting:,} waiting jobs is reached: it is free again as soon as"
            " a worker begins one of them, or you cancel one.",
            retry_seconds=JOBS_RETRY_SECONDS,
        )


def check_tiles(quotas: Quotas, *, used: int, more: int, now: datetime) -> None:
    """Raise TooManyRequests if the day's jobs would have more tiles than the tenant may ask for."""
    if quotas.tiles_a_day is not None and used + more > quotas.tiles_a_day:
        midnight = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), datetime.min.time(), UTC)
        raise TooManyRequests(
            f"Your organisation's limit of {quotas.tiles_a_day:,} tiles a day is reached: today's jobs have {used:,},"
            f" and this one would add about {more:,}; it is free again at 00:00 UTC.",
            retry_seconds=math.ceil((midnight - now).total_seconds()),
        )


def check_uploads_open(quotas: Quotas, opened: int) -> None:
    """Raise TooManyRequests if one more upload would be open than the tenant may have."""
    if quotas.uploads_open is not None and opened >= quotas.uploads_open:
        raise TooManyRequests(
            f"Your organisation's limit of {quotas.uploads_open:,} open uploads is reached: it is free again as soon as"
            " one of them is completed or aborted.",
            retry_seconds=UPLOADS_RETRY_SECONDS,
        )


def check_bytes_stored(quotas: Quotas, *, used: int, more: int) -> None:
    """Raise TooManyRequests if uploaded slides would take more bytes than the tenant may store."""
    if quotas.bytes_stored is not None and used + more > quotas.bytes_stored:
        raise TooManyRequests(
            f"Your organisation's limit of {quotas.bytes_stored:,} stored bytes is reached: its slides take {used:,},"
            f" and this upload would add {more:,}; it is free again once slides are deleted.",
            retry_seconds=BYTES_RETRY_SECONDS,
        )
