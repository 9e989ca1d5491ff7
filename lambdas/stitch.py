"""Queue `stitch`: assemble the results of a job from its shards."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from adapters.s3.objects import S3Objects
from adapters.settings.processes import StitchSettings
from adapters.sqs import SqsQueues
from lambdas.cold_start import Handler, make_entry
from lambdas.logs import make_logger
from lambdas.queues.events import make_queue_handler
from lambdas.wiring import make_aws_clients, make_function_tracer, make_system_ledger
from wsi.ledger_rules import GIVEN_UP
from wsi.notices.outbox import wake
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects
from wsi.ports.queues import Queues
from wsi.ports.tracing import NO_TRACER, Tracer
from wsi.results.stitching import stitch_job
from wsi.states import JobState

logger = make_logger("stitch")


def make_handler(*, ledger: SystemLedger, objects: Objects, queues: Queues, tracer: Tracer = NO_TRACER) -> Handler:
    def process_message(body: dict[str, Any], traceparent: str | None) -> None:
        stitch_job(UUID(body["job_id"]), ledger=ledger, objects=objects)
        wake(queues, traceparent=traceparent)

    def give_up(body: dict[str, Any]) -> None:
        ledger.fail_job(UUID(body["job_id"]), *GIVEN_UP[JobState.STITCHING])
        wake(queues)

    return make_queue_handler(process_message, logger, give_up=give_up, tracer=tracer)


def wire(settings: StitchSettings) -> Handler:
    clients = make_aws_clients(settings)
    return make_handler(
        ledger=make_system_ledger(settings),
        objects=S3Objects(clients, settings.results_bucket),
        queues=SqsQueues(clients, settings.queue_prefix),
        tracer=make_function_tracer(settings, clients, "stitch"),
    )


handler = make_entry(StitchSettings, wire)
