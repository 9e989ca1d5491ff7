"""The sweep: every minute it repairs what a crash left behind."""

from __future__ import annotations

from dataclasses import astuple, replace

from wsi.notices.outbox import wake
from wsi.ports.ledger import Swept, SystemLedger
from wsi.ports.queues import Queues


def sweep(
    *,
    ledger: SystemLedger,
    queues: Queues,
    upload_days: float,
    stuck_seconds: float,
    give_up_seconds: float,
    dollars_per_gpu_hour: float,
) -> Swept:
    """Repair the state in SQL, then wake the relay if anything was repaired. The bucket's lifecycle deletes the parts
    of abandoned uploads: it aborts incomplete uploads after the same number of days (F-44)."""
    swept = ledger.sweep(upload_days=upload_days, stuck_seconds=stuck_seconds, give_up_seconds=give_up_seconds)
    swept = replace(swept, budgets_told=ledger.warn_of_budgets(dollars_per_gpu_hour=dollars_per_gpu_hour))
    if any(astuple(swept)):
        wake(queues)
    return swept
