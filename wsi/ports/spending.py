"""The ledger's part about usage and budgets."""

from __future__ import annotations

from datetime import date
from typing import Protocol
from uuid import UUID

from wsi.records.identity import Actor
from wsi.records.operations.usage import BudgetNotice, BudgetUse, UsageBy, UsageLine


class TenantSpending(Protocol):
    """The API's view of a tenant's usage. Shards are counted as they are committed, once each."""

    def list_usage(
        self, actor: Actor, by: UsageBy, *, first: date, last: date, requester: str | None = None
    ) -> tuple[UsageLine, ...]:
        """List the tenant's usage from the day `first` to `last`, both included, in UTC: days by date, else by worker
        time, the most first. `requester`: only what was computed for this subject."""
        ...

    def measure_budget(self, actor: Actor) -> BudgetUse | None:
        """Return what is used of this month's budget; None for a tenant without one."""
        ...


class SystemSpending(Protocol):
    """The notices of budgets."""

    def warn_of_budgets(self, *, dollars_per_gpu_hour: float) -> int:
        """Add a notice to each admin of each tenant that has used a share of its budget for which there is one
        (`wsi.spending.budgets.PERCENTS`), once a month, and wake those that are due again; return the number of tenants
        whose notices wait. Each gets an outbox row to "notify"."""
        ...

    def claim_budget_notices(self, tenant: UUID, *, seconds: float) -> tuple[BudgetNotice, ...]:
        """Claim the tenant's notices that are due; each is due again in `seconds`, unless its outcome is recorded."""
        ...

    def record_budget_notice(
        self, notice: BudgetNotice, *, delivered: bool, error: str | None, retry_seconds: float | None
    ) -> None:
        """Record the outcome of a try, as `record_delivery` does for notices of jobs."""
        ...
