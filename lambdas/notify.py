"""Queue `notify`: who asked to hear of a job's end is told."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from uuid import UUID

from adapters.settings.processes import Notify
from lambdas.cold_start import Handler, entry
from lambdas.logs import logger_for
from lambdas.queue_events import make_queue_handler
from lambdas.wiring import NotifyWiring, notify_wiring
from wsi.notifying import notify

logger = logger_for("notify")


def make_handler(wiring: NotifyWiring) -> Handler:
    def work(body: dict[str, Any], traceparent: str | None) -> None:
        notified = notify(
            UUID(body["job_id"]),
            ledger=wiring.ledger,
            mail=wiring.mail,
            webhooks=wiring.webhooks,
            page_url=wiring.page_url,
            clock=wiring.clock,
        )
        logger.info("notified", extra={**body, "traceparent": traceparent, **asdict(notified)})

    return make_queue_handler(work, logger)


handler = entry(Notify, notify_wiring, make_handler)
