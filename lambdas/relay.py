"""Queue `wake` and a schedule of a minute: admit shards, and send what waits in the outbox."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from adapters.appsync import AppSyncPublisher
from adapters.settings.processes import RelaySettings
from adapters.sqs import SqsQueues
from lambdas.cold_start import Handler, make_entry
from lambdas.logs import make_logger
from lambdas.wiring import make_aws_clients, make_function_tracer, make_system_ledger
from wsi.notices.outbox import relay
from wsi.ports.ledger import SystemLedger
from wsi.ports.push import Publisher
from wsi.ports.queues import Queues
from wsi.ports.tracing import NO_TRACER, Tracer

logger = make_logger("relay")


def make_handler(
    *,
    ledger: SystemLedger,
    queues: Queues,
    publisher: Publisher,
    shards_in_flight: int,
    tracer: Tracer = NO_TRACER,
) -> Handler:
    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        # Wake-ups hold no data, so one run answers a whole batch of them, and a scheduled event as well. A row that
        # was not sent stays in SQL for the next run; no message needs to be delivered again.
        seconds = context.get_remaining_time_in_millis() / 1000
        relayed = relay(
            ledger=ledger,
            queues=queues,
            publisher=publisher,
            seconds=seconds,
            shards_in_flight=shards_in_flight,
            tracer=tracer,
        )
        logger.info("relayed", extra=asdict(relayed))
        return {"batchItemFailures": []}

    return handle


def wire(settings: RelaySettings) -> Handler:
    clients = make_aws_clients(settings)
    return make_handler(
        ledger=make_system_ledger(settings),
        queues=SqsQueues(clients, settings.queue_prefix),
        publisher=AppSyncPublisher(clients, settings.appsync_url),
        shards_in_flight=settings.shards_in_flight,
        tracer=make_function_tracer(settings, clients, "relay"),
    )


handler = make_entry(RelaySettings, wire)
