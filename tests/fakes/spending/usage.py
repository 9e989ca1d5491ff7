"""Usage and budgets in the memory ledger: the tenant's side."""

from __future__ import annotations

from collections import defaultdict
from datetime import date

from tests.fakes.ledger_books import Books, Usage
from tests.fakes.ledger_fairness import MemoryQuotas
from wsi.records.identity import Actor
from wsi.records.operations.usage import BudgetUse, UsageBy, UsageLine

Key = tuple[date | None, str | None, str | None, str | None]


class MemoryTenantSpending(MemoryQuotas):
    books: Books

    def list_usage(
        self, actor: Actor, by: UsageBy, *, first: date, last: date, requester: str | None = None
    ) -> tuple[UsageLine, ...]:
        with self.books.lock:
            found: defaultdict[Key, Usage] = defaultdict(Usage)
            for (tenant, day, model, version, person), used in self.books.usage_details.items():
                if tenant == actor.tenant and first <= day <= last and requester in (None, person):
                    line = found[_key(by, day, model, version, person)]
                    line.tiles += used.tiles
                    line.worker_seconds += used.worker_seconds
            lines = [_line(key, used) for key, used in found.items()]
            if by is UsageBy.DAY:
                return tuple(sorted(lines, key=lambda line: str(line.day)))
            return tuple(sorted(lines, key=lambda line: -line.worker_seconds))

    def measure_budget(self, actor: Actor) -> BudgetUse | None:
        with self.books.lock:
            quotas = self.get_quotas(actor.tenant)
            if quotas.dollars_a_month is None:
                return None
            return BudgetUse(
                month=self.books.now().date().replace(day=1),
                dollars_a_month=quotas.dollars_a_month,
                stops=bool(quotas.stops_at_budget),
                worker_seconds=self.sum_month(actor.tenant),
            )


def _key(by: UsageBy, day: date, model: str, version: str, person: str) -> Key:
    match by:
        case UsageBy.DAY:
            return (day, None, None, None)
        case UsageBy.MODEL:
            return (None, model, version, None)
        case UsageBy.PERSON:
            return (None, None, None, person)


def _line(key: Key, used: Usage) -> UsageLine:
    day, model, version, person = key
    return UsageLine(
        day=day,
        model=model,
        model_version=version,
        requester=person,
        tiles=used.tiles,
        worker_seconds=used.worker_seconds,
    )
