"""Every minute: what a death left behind is put right."""

from __future__ import annotations

from dataclasses import astuple

from wsi.notices import wake
from wsi.ports.ledger import Swept, SystemLedger
from wsi.ports.queues import Queues


def sweep(
    *, ledger: SystemLedger, queues: Queues, upload_days: float, stuck_seconds: float, give_up_seconds: float
) -> Swept:
    """Repairs in SQL, then wakes the relay when there is something to send. The parts of abandoned uploads are S3's
    to delete: the bucket's lifecycle aborts incomplete uploads after the same number of days (F-44)."""
    swept = ledger.sweep(upload_days=upload_days, stuck_seconds=stuck_seconds, give_up_seconds=give_up_seconds)
    if any(astuple(swept)):
        wake(queues)
    return swept
