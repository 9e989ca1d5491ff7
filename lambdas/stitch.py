"""Queue `stitch`: the results of a job out of its shards."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from adapters.settings.processes import Stitch
from lambdas.cold_start import Handler, entry
from lambdas.logs import logger_for
from lambdas.queue_events import make_queue_handler
from lambdas.wiring import StitchWiring, stitch_wiring
from wsi.ledger_rules import GIVEN_UP
from wsi.notices import wake
from wsi.states import JobState
from wsi.stitching import stitch_job

logger = logger_for("stitch")


def make_handler(wiring: StitchWiring) -> Handler:
    def work(body: dict[str, Any], traceparent: str | None) -> None:
        stitch_job(UUID(body["job_id"]), ledger=wiring.ledger, objects=wiring.objects)
        wake(wiring.queues, traceparent=traceparent)

    def give_up(body: dict[str, Any]) -> None:
        wiring.ledger.fail_job(UUID(body["job_id"]), *GIVEN_UP[JobState.STITCHING])
        wake(wiring.queues)

    return make_queue_handler(work, logger, give_up=give_up)


handler = entry(Stitch, stitch_wiring, make_handler)
