"""Queue `wake` and a schedule of a minute: what waits in the outbox goes out."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from adapters.settings.processes import Relay
from lambdas.cold_start import Handler, entry
from lambdas.logs import logger_for
from lambdas.wiring import RelayWiring, relay_wiring
from wsi.notices import relay

logger = logger_for("relay")


def make_handler(wiring: RelayWiring) -> Handler:
    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        # Wake-ups hold nothing, so one run answers a whole batch of them, and a scheduled event as well. A row that
        # was not sent stays in SQL and comes again; no message needs to.
        relayed = relay(ledger=wiring.ledger, queues=wiring.queues, publisher=wiring.publisher)
        logger.info("relayed", extra=asdict(relayed))
        return {"batchItemFailures": []}

    return handle


handler = entry(Relay, relay_wiring, make_handler)
