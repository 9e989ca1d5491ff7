"""A schedule of a minute: what a death left behind is put right, how the installation does is told, and slides come
back from the archive and return there."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from adapters.settings.processes import Sweep
from lambdas.cold_start import Handler, entry
from lambdas.logs import logger_for
from lambdas.measures import publish
from lambdas.wiring import SweepWiring, sweep_wiring
from wsi.archiving import settle
from wsi.sweeping import sweep

logger = logger_for("sweep")

PERIOD_SECONDS = 60.0  #: of the schedule: what ended within it is counted


def make_handler(wiring: SweepWiring) -> Handler:
    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        swept = sweep(
            ledger=wiring.ledger,
            queues=wiring.queues,
            upload_days=wiring.upload_days,
            stuck_seconds=wiring.stuck_seconds,
            give_up_seconds=wiring.give_up_seconds,
        )
        logger.info("swept", extra=asdict(swept))
        vitals = wiring.ledger.vitals(seconds=PERIOD_SECONDS, stalled_seconds=wiring.stuck_seconds)
        publish(vitals, swept, namespace=wiring.metrics_namespace)
        settled = settle(ledger=wiring.ledger, slides=wiring.slides)
        logger.info("settled", extra=asdict(settled))
        return {**asdict(swept), **asdict(settled)}

    return handle


handler = entry(Sweep, sweep_wiring, make_handler)
