"""The sweep: every minute it repairs what a crash left behind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, replace

from wsi.dead_letters.collecting import collect_dead_letters
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
    dead_letters_of: Iterable[str] = (),
    dead_letters: str = "",
) -> Swept:
    """Repair the state in SQL, then wake the relay if anything was repaired. The bucket's lifecycle deletes the parts
    of abandoned uploads: it aborts incomplete uploads after the same number of days (F-44).

    `dead_letters_of`: the queues whose dead letters are collected, from the queue of each name and `dead_letters`."""
    swept = ledger.sweep(upload_days=upload_days, stuck_seconds=stuck_seconds, give_up_seconds=give_up_seconds)
    collected = collect_dead_letters(ledger=ledger, queues=queues, names=dead_letters_of, suffix=dead_letters)
    budgets_told = ledger.warn_of_budgets(dollars_per_gpu_hour=dollars_per_gpu_hour)
    swept = replace(swept, budgets_told=budgets_told, dead_letters=collected.total())
    if any(astuple(swept)):
        wake(queues)
    return swept
