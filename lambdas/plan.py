"""Queue `plan`: tissue, tile grid and shards of a job. What is heavy, `gpu_worker.planner` plans likewise."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from adapters.settings.processes import SlideJobs
from lambdas.cold_start import Handler, entry
from lambdas.logs import logger_for
from lambdas.queue_events import make_queue_handler
from lambdas.wiring import SlideJobsWiring, slide_jobs_wiring
from wsi.notices import wake
from wsi.planning import give_up_plan, plan_job
from wsi.slide.scratch import in_tenths

logger = logger_for("plan")


def make_handler(wiring: SlideJobsWiring) -> Handler:
    def work(body: dict[str, Any], traceparent: str | None) -> None:
        plan_job(
            UUID(body["job_id"]),
            ledger=wiring.ledger,
            slides=wiring.slides,
            objects=wiring.objects,
            scratch=wiring.scratch,
            max_scratch_bytes=wiring.max_scratch_bytes,
            shard_tiles=wiring.shard_tiles,
            on_copy=in_tenths(lambda done, _: logger.info("slide copied", extra={**body, "bytes": done})),
        )
        wake(wiring.queues, traceparent=traceparent)

    def give_up(body: dict[str, Any]) -> None:
        give_up_plan(UUID(body["job_id"]), ledger=wiring.ledger)
        wake(wiring.queues)

    return make_queue_handler(work, logger, give_up=give_up)


handler = entry(SlideJobs, slide_jobs_wiring, make_handler)
