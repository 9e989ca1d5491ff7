"""Notices of budgets: who is told, once a month for each share, and what came of it."""

from __future__ import annotations

from uuid import UUID

from psycopg.types.json import Jsonb

from adapters.postgres.connections import Cursor, Transactions
from wsi.ledger_rules import NOTICE_WAKE_SECONDS
from wsi.planning.estimate import compute_cost
from wsi.records.fields import select_known_fields
from wsi.records.operations.usage import BudgetNotice
from wsi.spending.budgets import choose_percent, make_budget_message
from wsi.tracing import make_traceparent

#: The month's usage of each tenant that has a budget, its own or that of all, and no notice of the last share yet.
_USED = """
    SELECT usage.tenant, month, sum(worker_seconds)::double precision AS worker_seconds,
        coalesce(own.dollars_a_month, general.dollars_a_month) AS budget
    FROM (SELECT date_trunc('month', now() AT TIME ZONE 'UTC')::date AS month) AS clock
        JOIN usage ON usage.day >= clock.month
        LEFT JOIN quotas AS own ON own.tenant = usage.tenant LEFT JOIN quotas AS general ON general.tenant IS NULL
    WHERE coalesce(own.dollars_a_month, general.dollars_a_month) IS NOT NULL
    GROUP BY usage.tenant, month, budget ORDER BY usage.tenant
"""
_ADD = """
    INSERT INTO budget_notices (tenant, month, percent, target)
    SELECT %(tenant)s, %(month)s, %(percent)s, email FROM tessera.admins_of(%(tenant)s)
    WHERE NOT EXISTS (
        SELECT FROM budget_notices WHERE tenant = %(tenant)s AND month = %(month)s AND percent >= %(percent)s
    )
    ON CONFLICT DO NOTHING
"""
_WAKE = """
    WITH due AS (
        UPDATE budget_notices SET woken_at = now()
        WHERE due_at <= now() AND (woken_at IS NULL OR woken_at < now() - make_interval(secs => %s))
        RETURNING tenant
    )
    SELECT DISTINCT tenant FROM due ORDER BY tenant
"""


class PostgresBudgetNotices(Transactions):
    """The sweep's and notify's operations on notices of budgets."""

    def warn_of_budgets(self, *, dollars_per_gpu_hour: float) -> int:
        with self._transaction() as cursor:
            _add_missing(cursor, dollars_per_gpu_hour)
            waiting = [row["tenant"] for row in cursor.execute(_WAKE, (NOTICE_WAKE_SECONDS,)).fetchall()]
            for tenant in waiting:
                cursor.execute(
                    "INSERT INTO outbox (tenant, topic, body, traceparent) VALUES (%s, 'notify', %s, %s)",
                    (tenant, Jsonb(make_budget_message(tenant)), make_traceparent()),
                )
            return len(waiting)

    def claim_budget_notices(self, tenant: UUID, *, seconds: float) -> tuple[BudgetNotice, ...]:
        with self._transaction() as cursor:
            # Of two parallel calls, the second waits for the first one's row and finds it no longer due.
            claimed = cursor.execute(
                """
                UPDATE budget_notices SET attempt = attempt + 1, due_at = now() + make_interval(secs => %s)
                WHERE tenant = %s AND due_at <= now() RETURNING *
                """,
                (seconds, tenant),
            ).fetchall()
            notices = (BudgetNotice(**select_known_fields(BudgetNotice, row)) for row in claimed)
            return tuple(sorted(notices, key=lambda notice: notice.id))

    def record_budget_notice(
        self, notice: BudgetNotice, *, delivered: bool, error: str | None, retry_seconds: float | None
    ) -> None:
        with self._transaction() as cursor:
            cursor.execute(
                """
                UPDATE budget_notices SET error = %(error)s, woken_at = NULL,
                    delivered_at = CASE WHEN %(delivered)s THEN now() END,
                    due_at = CASE WHEN NOT %(delivered)s THEN now() + make_interval(secs => %(retry)s) END
                WHERE id = %(id)s AND attempt = %(attempt)s AND due_at IS NOT NULL
                """,
                {
                    "error": error,
                    "delivered": delivered,
                    "retry": retry_seconds,  # NULL makes the whole sum NULL: given up
                    "id": notice.id,
                    "attempt": notice.attempt,
                },
            )


def _add_missing(cursor: Cursor, dollars_per_gpu_hour: float) -> None:
    for row in cursor.execute(_USED).fetchall():
        dollars = compute_cost(row["worker_seconds"], dollars_per_gpu_hour)
        percent = choose_percent(dollars, row["budget"])
        if percent is not None:
            cursor.execute(_ADD, {"tenant": row["tenant"], "month": row["month"], "percent": percent})
