"""Queue `plan`: tissue, tile grid and shards of a job. `gpu_worker.planner` does the same for heavy plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol
from uuid import UUID

from adapters.s3.objects import S3Objects
from adapters.settings.processes import SlideJobSettings
from adapters.sqs import SqsQueues
from lambdas.cold_start import Handler, make_entry
from lambdas.logs import make_logger
from lambdas.queues.events import make_queue_handler
from lambdas.wiring import SCRATCH, make_aws_clients, make_function_tracer, make_slide_store, make_system_ledger
from wsi.jobs.planning import give_up_plan, plan_job
from wsi.notices.outbox import wake
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects, SlideStore
from wsi.ports.queues import Queues
from wsi.ports.tracing import NO_TRACER, Tracer
from wsi.slide.files.scratch import ScratchSpace, throttle_to_tenths

logger = make_logger("plan")


class JobWork(Protocol):
    def __call__(
        self,
        job_id: UUID,
        /,
        *,
        ledger: SystemLedger,
        slides: SlideStore,
        objects: Objects,
        scratch: ScratchSpace,
        shard_tiles: int | None,
    ) -> bool:
        """Advance a job. Return False if nothing was due."""
        ...


def make_handler(
    *,
    ledger: SystemLedger,
    slides: SlideStore,
    objects: Objects,
    queues: Queues,
    scratch: ScratchSpace,
    shard_tiles: int | None = None,
    tracer: Tracer = NO_TRACER,
    work: JobWork = plan_job,
) -> Handler:
    def process_message(body: dict[str, Any], traceparent: str | None) -> None:
        on_copy = throttle_to_tenths(lambda done, _: logger.info("slide copied", extra={**body, "bytes": done}))
        work(
            UUID(body["job_id"]),
            ledger=ledger,
            slides=slides,
            objects=objects,
            scratch=replace(scratch, on_copy=on_copy),
            shard_tiles=shard_tiles,
        )
        wake(queues, traceparent=traceparent)

    def give_up(body: dict[str, Any]) -> None:
        give_up_plan(UUID(body["job_id"]), ledger=ledger)
        wake(queues)

    return make_queue_handler(process_message, logger, give_up=give_up, tracer=tracer)


def wire(settings: SlideJobSettings, work: JobWork = plan_job) -> Handler:
    """Wire the function. `work` is more than planning where no process of its own takes from queue `heavy`."""
    clients = make_aws_clients(settings)
    ledger = make_system_ledger(settings)
    return make_handler(
        ledger=ledger,
        slides=make_slide_store(settings, clients, ledger, settings),
        objects=S3Objects(clients, settings.results_bucket),
        queues=SqsQueues(clients, settings.queue_prefix),
        scratch=ScratchSpace(SCRATCH, settings.max_scratch_bytes),
        shard_tiles=settings.shard_tiles,
        tracer=make_function_tracer(settings, clients, "plan"),
        work=work,
    )


handler = make_entry(SlideJobSettings, wire)
