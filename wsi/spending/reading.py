"""Reports of usage, with what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from wsi.access import require
from wsi.errors import Invalid
from wsi.planning.estimate import compute_cost
from wsi.ports.ledger import TenantLedger
from wsi.records.identity import Actor, Role
from wsi.records.operations.usage import BudgetUse, UsageBy, UsageLine

MOST_DAYS = 366  #: of one report


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageReport:
    by: UsageBy
    first: date
    last: date
    lines: tuple[UsageLine, ...]
    names: Mapping[str, str]  #: of requesters, by subject; one that nobody told is left out
    budget: BudgetUse | None  #: of the tenant, in this month; None in the report of one requester
    dollars_per_gpu_hour: float

    def compute_dollars(self, worker_seconds: float) -> float:
        """Return what so much workers' time costs at the installation's price."""
        return round(compute_cost(worker_seconds, self.dollars_per_gpu_hour), 4)


def read_usage(
    actor: Actor,
    by: UsageBy,
    *,
    first: date | None,
    last: date | None,
    mine: bool,
    ledger: TenantLedger,
    dollars_per_gpu_hour: float,
    now: datetime,
) -> UsageReport:
    """Return the usage from `first` (None: the first of the month of `last`) to `last` (None: today), in UTC. `mine`:
    only what the caller asked for; everything else is for admins. Raises Forbidden, Invalid."""
    if not mine:
        require(actor, Role.ADMIN)
    last = last or now.date()
    first = first or last.replace(day=1)
    if first > last:
        raise Invalid("The report's first day is after its last: give from before to.")
    if last - first >= timedelta(days=MOST_DAYS):
        raise Invalid(f"A report has at most {MOST_DAYS} days: ask for a shorter time.")
    lines = ledger.list_usage(actor, by, first=first, last=last, requester=actor.subject if mine else None)
    return UsageReport(
        by=by,
        first=first,
        last=last,
        lines=lines,
        names=ledger.list_names(actor, {line.requester for line in lines if line.requester is not None}),
        budget=None if mine else ledger.measure_budget(actor),
        dollars_per_gpu_hour=dollars_per_gpu_hour,
    )
