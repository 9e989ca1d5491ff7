"""The schedule of a minute: it repairs what crashes left behind, reports the installation's vital signs, moves slides
out of the archive and back, deletes what is older than its tenant keeps it, and erases what was deleted."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from adapters.s3.objects import S3Objects
from adapters.s3.slides import S3SlideStore
from adapters.settings import metrics
from adapters.settings.processes import SweepSettings
from adapters.settings.queues import DEAD_LETTERS, QUEUES
from adapters.sqs import SqsQueues
from lambdas.cold_start import Handler, make_entry
from lambdas.logs import make_logger
from lambdas.metrics import publish, publish_failed_erasures
from lambdas.wiring import make_aws_clients, make_slide_locks, make_system_ledger
from wsi.jobs.sweeping import sweep
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects, SlideStore
from wsi.ports.queues import Queues
from wsi.records.audit.lines import ANCHOR_SECONDS
from wsi.slides.archiving import settle
from wsi.slides.erasing import erase, expire
from wsi.slides.locking import SlideLocks

logger = make_logger("sweep")

PERIOD_SECONDS = 60.0  #: of the schedule; jobs that ended within it are counted


def make_handler(
    *,
    ledger: SystemLedger,
    slides: SlideStore,
    objects: Objects,
    locks: SlideLocks | None,
    queues: Queues,
    upload_days: float,
    stuck_seconds: float,
    give_up_seconds: float,
    dollars_per_gpu_hour: float,
    metrics_namespace: str,
) -> Handler:
    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        swept = sweep(
            ledger=ledger,
            queues=queues,
            upload_days=upload_days,
            stuck_seconds=stuck_seconds,
            give_up_seconds=give_up_seconds,
            dollars_per_gpu_hour=dollars_per_gpu_hour,
            dead_letters_of=QUEUES,
            dead_letters=DEAD_LETTERS,
        )
        logger.info("swept", extra=asdict(swept))
        vitals = ledger.measure_vitals(seconds=PERIOD_SECONDS, stalled_seconds=stuck_seconds)
        publish(vitals, swept, namespace=metrics_namespace)
        settled = settle(ledger=ledger, slides=slides)
        logger.info("settled", extra=asdict(settled))
        expired = expire(ledger=ledger, locks=locks)
        erased = erase(ledger=ledger, slides=slides, objects=objects)
        logger.info("erased", extra={**asdict(expired), **asdict(erased)})
        publish_failed_erasures(erased.erasures_failed, namespace=metrics_namespace)
        for head in ledger.keep_audit(anchor_seconds=ANCHOR_SECONDS):
            # The log is out of reach of whoever changes the database: docs/how-to/audit.md compares the two.
            logger.info("audit head", extra={"chain": str(head.chain), "number": head.number, "hash": head.hash})
        return {**asdict(swept), **asdict(settled), **asdict(expired), **asdict(erased)}

    return handle


def wire(settings: SweepSettings) -> Handler:
    clients = make_aws_clients(settings)
    return make_handler(
        ledger=make_system_ledger(settings),
        slides=S3SlideStore(clients, settings.slides_bucket),
        objects=S3Objects(clients, settings.results_bucket),
        locks=make_slide_locks(settings, clients),
        queues=SqsQueues(clients, settings.queue_prefix),
        upload_days=settings.upload_days,
        stuck_seconds=settings.stuck_seconds,
        give_up_seconds=settings.give_up_seconds,
        dollars_per_gpu_hour=settings.dollars_per_gpu_hour,
        metrics_namespace=metrics.make_namespace(settings.queue_prefix),
    )


handler = make_entry(SweepSettings, wire)
