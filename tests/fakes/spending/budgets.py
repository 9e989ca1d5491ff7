"""Notices of budgets in the memory ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from uuid import UUID

from tests.fakes.ledger_books import BookedBudgetNotice, Books
from tests.fakes.ledger_fairness import MemoryQuotas
from wsi.ledger_rules import NOTICE_WAKE_SECONDS
from wsi.planning.estimate import compute_cost
from wsi.records.identity import Role
from wsi.records.operations.usage import BudgetNotice
from wsi.spending.budgets import choose_percent, make_budget_message
from wsi.tracing import make_traceparent


class MemoryBudgetNotices(MemoryQuotas):
    books: Books

    def warn_of_budgets(self, *, dollars_per_gpu_hour: float) -> int:
        with self.books.lock:
            for tenant in sorted({tenant for tenant, _ in self.books.usage}):
                budget = self.get_quotas(tenant).dollars_a_month
                dollars = compute_cost(self.sum_month(tenant), dollars_per_gpu_hour)
                percent = choose_percent(dollars, budget) if budget is not None else None
                if percent is not None:
                    self._tell_admins(tenant, percent)
            now, silent = self.books.now(), self.books.ago(NOTICE_WAKE_SECONDS)
            due = [
                booked
                for booked in self.books.budget_notices
                if booked.notice.due_at is not None
                and booked.notice.due_at <= now
                and (booked.woken_at is None or booked.woken_at < silent)
            ]
            for booked in due:
                booked.woken_at = now
            tenants = sorted({booked.notice.tenant for booked in due})
            for tenant in tenants:
                self.books.send(tenant, "notify", make_budget_message(tenant), make_traceparent())
            return len(tenants)

    def claim_budget_notices(self, tenant: UUID, *, seconds: float) -> tuple[BudgetNotice, ...]:
        with self.books.lock:
            now = self.books.now()
            due = [
                booked
                for booked in self.books.budget_notices
                if booked.notice.tenant == tenant and booked.notice.due_at is not None and booked.notice.due_at <= now
            ]
            for booked in due:
                attempt = booked.notice.attempt + 1
                booked.notice = replace(booked.notice, attempt=attempt, due_at=self.books.hence(seconds))
            return tuple(booked.notice for booked in due)

    def record_budget_notice(
        self, notice: BudgetNotice, *, delivered: bool, error: str | None, retry_seconds: float | None
    ) -> None:
        with self.books.lock:
            booked = self.books.budget_notices[notice.id - 1]
            if booked.notice.attempt != notice.attempt or booked.notice.due_at is None:
                return
            again = None if delivered or retry_seconds is None else self.books.hence(retry_seconds)
            booked.notice = replace(booked.notice, due_at=again)
            booked.error, booked.woken_at = error, None
            booked.delivered_at = self.books.now() if delivered else None

    def _tell_admins(self, tenant: UUID, percent: int) -> None:
        month = self.books.now().date().replace(day=1)
        if any(
            (known.notice.tenant, known.notice.month) == (tenant, month) and known.notice.percent >= percent
            for known in self.books.budget_notices
        ):
            return
        for target in self._list_admins(tenant):
            self._add_notice(tenant, month, percent, target)

    def _list_admins(self, tenant: UUID) -> list[str]:
        admins = [one for one in self.books.users.values() if one.tenant == tenant and one.role is Role.ADMIN]
        return sorted({self.books.names[one.subject][1] for one in admins if one.subject in self.books.names})

    def _add_notice(self, tenant: UUID, month: date, percent: int, target: str) -> None:
        notice = BudgetNotice(
            id=len(self.books.budget_notices) + 1,
            tenant=tenant,
            month=month,
            percent=percent,
            target=target,
            attempt=0,
            due_at=self.books.now(),
        )
        self.books.budget_notices.append(BookedBudgetNotice(notice=notice))
