"""Queue `inspect`: accept or reject an uploaded slide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from adapters.s3.objects import S3Objects
from adapters.settings.processes import SlideJobSettings
from lambdas.cold_start import Handler, make_entry
from lambdas.logs import make_logger
from lambdas.queues.events import make_queue_handler
from lambdas.wiring import SCRATCH, make_aws_clients, make_function_tracer, make_slide_store, make_system_ledger
from wsi.errors import RejectReason
from wsi.inspection.inspecting import inspect_slide
from wsi.ledger_rules import UNINSPECTED_SENTENCE
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects, SlideStore
from wsi.ports.tracing import NO_TRACER, Tracer
from wsi.slide.files.scratch import ScratchSpace, throttle_to_tenths
from wsi.spans import describe_span

logger = make_logger("inspect")


def make_handler(
    *,
    ledger: SystemLedger,
    slides: SlideStore,
    objects: Objects,
    scratch: ScratchSpace,
    tracer: Tracer = NO_TRACER,
) -> Handler:
    def process_message(body: dict[str, Any], traceparent: str | None) -> None:
        on_copy = throttle_to_tenths(lambda done, _: logger.info("slide copied", extra={**body, "bytes": done}))
        state = inspect_slide(
            UUID(body["slide_id"]),
            ledger=ledger,
            slides=slides,
            objects=objects,
            scratch=replace(scratch, on_copy=on_copy),
        )
        describe_span(outcome=state.value if state else "nothing to do")
        logger.info("inspected", extra={**body, "traceparent": traceparent, "state": state})

    def give_up(body: dict[str, Any]) -> None:
        ledger.reject_slide(UUID(body["slide_id"]), RejectReason.DAMAGED, UNINSPECTED_SENTENCE)

    return make_queue_handler(process_message, logger, give_up=give_up, tracer=tracer)


def wire(settings: SlideJobSettings) -> Handler:
    clients = make_aws_clients(settings)
    ledger = make_system_ledger(settings)
    return make_handler(
        ledger=ledger,
        slides=make_slide_store(settings, clients, ledger, settings),
        objects=S3Objects(clients, settings.results_bucket),
        scratch=ScratchSpace(SCRATCH, settings.max_scratch_bytes),
        tracer=make_function_tracer(settings, clients, "inspect"),
    )


handler = make_entry(SlideJobSettings, wire)
