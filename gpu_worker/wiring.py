"""Makes the adapters that the worker and the planner of large slides have in common, from their settings."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.aws_clients import AwsClients
from adapters.postgres.connections import Connections
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.s3.objects import S3Objects
from adapters.s3.slides import S3SlideStore
from adapters.settings import processes
from adapters.sqs import SqsQueues
from adapters.tracing.choosing import make_tracer
from wsi.ports.tracing import Tracer


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerAdapters:
    """The adapters of a process."""

    clients: AwsClients
    ledger: PostgresSystemLedger
    queues: SqsQueues
    objects: S3Objects  #: the results bucket
    slides: S3SlideStore
    tracer: Tracer


def wire_adapters(settings: processes.WorkerSettings | processes.HeavySettings) -> WorkerAdapters:
    """Make the adapters. Each connects at its first use."""
    clients = AwsClients(settings.region, settings.endpoint_url)
    ledger = PostgresSystemLedger(Connections.of(settings))
    return WorkerAdapters(
        clients=clients,
        ledger=ledger,
        queues=SqsQueues(clients, settings.queue_prefix),
        objects=S3Objects(clients, settings.results_bucket),
        slides=S3SlideStore(
            clients,
            settings.slides_bucket,
            settings.allowed,
            settings,
            list_sources=ledger.list_sources,
            source_role=settings.source_role,
        ),
        tracer=make_tracer(settings, clients),
    )
