"""The ports that several functions need, built from settings, and those of the API's routes. A function wires all else
in its own module's `wire`: once per cold start on AWS, several in one process in the embedded stack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from adapters.accounts import CognitoAccounts
from adapters.aws_clients import AwsClients
from adapters.operations import LambdaOperations, NoOperations
from adapters.postgres.administration.directory import PostgresDirectory
from adapters.postgres.connections import Connections
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.postgres.tenant_ledger import PostgresTenantLedger
from adapters.s3.locks import S3Locks
from adapters.s3.objects import S3Objects
from adapters.s3.slides import S3SlideStore
from adapters.settings.processes import (
    ApiSettings,
    AwsSettings,
    DatabaseSettings,
    SlideBuckets,
    SubmitSettings,
    SweepSettings,
    TracedSettings,
)
from adapters.settings.reads import ReadLimits
from adapters.settings.scaling import SHARDS_A_WORKER
from adapters.sqs import SqsQueues
from adapters.tracing.choosing import make_tracer
from wsi.ports.administration import Accounts, MemberDirectory, Operations
from wsi.ports.ledger import TenantLedger
from wsi.ports.objects import MultipartStore, Objects, SlideStore
from wsi.ports.queues import Queues
from wsi.ports.tracing import NO_TRACER, Tracer
from wsi.records.expectations import WorkerScaling
from wsi.slides.locking import SlideLocks
from wsi.sources.source import SourceRecords

SCRATCH = Path("/tmp")  #: a Lambda's only writable folder


def get_utc_now() -> datetime:
    return datetime.now(UTC)


def make_aws_clients(settings: AwsSettings) -> AwsClients:
    return AwsClients(settings.region, settings.endpoint_url)


def make_tenant_ledger(settings: DatabaseSettings) -> PostgresTenantLedger:
    return PostgresTenantLedger(Connections.of(settings))


def make_system_ledger(settings: DatabaseSettings) -> PostgresSystemLedger:
    return PostgresSystemLedger(Connections.of(settings))


def make_slide_store(
    settings: SlideBuckets, clients: AwsClients, sources: SourceRecords, limits: ReadLimits | None = None
) -> S3SlideStore:
    """Return the store of slides, which asks `sources` where a tenant's slides by reference may lie."""
    return S3SlideStore(
        clients,
        settings.slides_bucket,
        settings.allowed,
        limits,
        list_sources=sources.list_sources,
        source_role=settings.source_role,
    )


def make_slide_locks(settings: ApiSettings | SweepSettings, clients: AwsClients) -> SlideLocks | None:
    if not settings.object_lock:
        return None
    return SlideLocks(
        slides=S3Locks(clients, settings.slides_bucket), results=S3Locks(clients, settings.results_bucket)
    )


def make_function_tracer(settings: TracedSettings, clients: AwsClients, service: str) -> Tracer:
    """Return the tracer of a function, whose lost spans are a metric."""

    def publish(count: int) -> None:
        from lambdas.metrics import publish_lost_spans  # rarely needed

        publish_lost_spans(count, service)

    return make_tracer(settings, clients, on_lost=publish)


def make_accounts(settings: ApiSettings, clients: AwsClients) -> Accounts | None:
    if settings.user_pool is None or settings.issuer is None:
        return None
    return CognitoAccounts(clients, settings.user_pool, settings.issuer, mails=settings.mails_invitations)


def make_operations(settings: ApiSettings, clients: AwsClients) -> Operations:
    if settings.operate_function is None:
        return NoOperations()
    return LambdaOperations(clients, settings.operate_function)


@dataclass(frozen=True, kw_only=True)
class SubmitWiring:
    """The ports of the route of new jobs and dry runs."""

    ledger: TenantLedger
    objects: Objects
    queues: Queues
    dollars_per_gpu_hour: float
    page_origins: frozenset[str] = frozenset()  #: of pages that may read answers, besides the API's own
    clock: Callable[[], datetime] = get_utc_now
    tracer: Tracer = NO_TRACER

    @staticmethod
    def of(settings: SubmitSettings, clients: AwsClients, connections: Connections) -> SubmitWiring:
        return SubmitWiring(
            ledger=PostgresTenantLedger(connections),
            objects=S3Objects(clients, settings.results_bucket),
            queues=SqsQueues(clients, settings.queue_prefix),
            dollars_per_gpu_hour=settings.dollars_per_gpu_hour,
            page_origins=settings.origins,
            tracer=make_function_tracer(settings, clients, "api"),
        )


@dataclass(frozen=True, kw_only=True)
class AdministrationPorts:
    """The ports of the routes of admins and operators."""

    directory: MemberDirectory
    operations: Operations
    accounts: Accounts | None = None  #: None: the sign-in's accounts are not ours to make or to end


@dataclass(frozen=True, kw_only=True)
class ApiWiring(SubmitWiring):
    """The ports of all routes of the API."""

    slides: SlideStore
    packages: MultipartStore  #: model packages
    locks: SlideLocks | None = None  #: None: the buckets have no S3 Object Lock
    realtime_url: str | None = None
    scaling: WorkerScaling
    administration: AdministrationPorts | None = None  #: None: its routes are not served

    @staticmethod
    def of_api(settings: ApiSettings, operations: Operations | None = None) -> ApiWiring:
        """Return the wiring; `operations` in place of the function that the settings name."""
        clients, connections = make_aws_clients(settings), Connections.of(settings)
        submitting = SubmitWiring.of(settings, clients, connections)
        return ApiWiring(
            **vars(submitting),
            slides=make_slide_store(settings, clients, submitting.ledger),
            packages=S3SlideStore(clients, settings.models_bucket),
            locks=make_slide_locks(settings, clients),
            realtime_url=settings.realtime_url,
            scaling=WorkerScaling(
                start_seconds=settings.worker_start_seconds,
                slow_start_seconds=settings.slow_worker_start_seconds,
                most=settings.most_workers,
                shards_a_worker=SHARDS_A_WORKER,
            ),
            administration=AdministrationPorts(
                directory=PostgresDirectory(connections),
                accounts=make_accounts(settings, clients),
                operations=operations or make_operations(settings, clients),
            ),
        )
