"""Queue `inspect`: accept or reject an uploaded slide."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from adapters.settings.processes import SlideJobs
from lambdas.cold_start import Handler, entry
from lambdas.logs import logger_for
from lambdas.queue_events import make_queue_handler
from lambdas.wiring import SlideJobsWiring, slide_jobs_wiring
from wsi.errors import RejectReason
from wsi.inspecting import inspect_slide
from wsi.ledger_rules import UNINSPECTED_SENTENCE
from wsi.slide.scratch import in_tenths

logger = logger_for("inspect")


def make_handler(wiring: SlideJobsWiring) -> Handler:
    def work(body: dict[str, Any], traceparent: str | None) -> None:
        state = inspect_slide(
            UUID(body["slide_id"]),
            ledger=wiring.ledger,
            slides=wiring.slides,
            objects=wiring.objects,
            scratch=wiring.scratch,
            max_scratch_bytes=wiring.max_scratch_bytes,
            on_copy=in_tenths(lambda done, _: logger.info("slide copied", extra={**body, "bytes": done})),
        )
        logger.info("inspected", extra={**body, "traceparent": traceparent, "state": state})

    def give_up(body: dict[str, Any]) -> None:
        wiring.ledger.reject_slide(UUID(body["slide_id"]), RejectReason.DAMAGED, UNINSPECTED_SENTENCE)

    return make_queue_handler(work, logger, give_up=give_up)


handler = entry(SlideJobs, slide_jobs_wiring, make_handler)
