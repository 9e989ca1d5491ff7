"""What each handler needs, and how it is built from settings: once per cold start on AWS, several in one process in
the embedded stack, from memory in tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.appsync import AppSyncPublisher
from adapters.aws_clients import AwsClients
from adapters.postgres.administration import Administration
from adapters.postgres.connections import Connections
from adapters.postgres.identities import PostgresIdentities
from adapters.postgres.owner import owner_dsn
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.postgres.tenant_ledger import PostgresTenantLedger
from adapters.s3.objects import S3Objects
from adapters.s3.slides import S3SlideStore
from adapters.ses import SesMail
from adapters.settings import metrics
from adapters.settings.processes import (
    Api,
    Authorizer,
    Aws,
    Database,
    Notify,
    Owner,
    Relay,
    SlideJobs,
    Stitch,
    Sweep,
    Tiles,
)
from adapters.sqs import SqsQueues
from adapters.webhooks import LambdaWebhooks
from wsi.ports.ledger import Identities, SystemLedger, TenantLedger
from wsi.ports.notices import Mail, Webhooks
from wsi.ports.objects import Objects, SlideStore
from wsi.ports.push import Publisher
from wsi.ports.queues import Queues

if TYPE_CHECKING:  # it needs numpy, which most functions go without
    from wsi.kept_views import SlideRecords

SCRATCH = Path("/tmp")  #: a Lambda's only writable folder


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class ApiWiring:
    ledger: TenantLedger
    slides: SlideStore
    objects: Objects
    queues: Queues
    allowed_buckets: frozenset[str] = frozenset()  #: from which slides may be registered by reference
    dollars_per_gpu_hour: float
    realtime_url: str | None = None
    page_origins: frozenset[str] = frozenset()  #: of pages that may read answers, beside the API's own
    clock: Callable[[], datetime] = utc_now


@dataclass(frozen=True, kw_only=True)
class AuthorizerWiring:
    identities: Identities
    issuer: str
    client_id: str
    jwks_url: str


@dataclass(frozen=True, kw_only=True)
class SlideJobsWiring:
    """inspect and plan."""

    ledger: SystemLedger
    slides: SlideStore
    objects: Objects
    queues: Queues
    scratch: Path = SCRATCH
    max_scratch_bytes: int
    shard_tiles: int | None = None


@dataclass(frozen=True, kw_only=True)
class TilesWiring:
    ledger: SlideRecords
    slides: SlideStore
    objects: Objects
    page_origins: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class StitchWiring:
    ledger: SystemLedger
    objects: Objects
    queues: Queues


@dataclass(frozen=True, kw_only=True)
class RelayWiring:
    ledger: SystemLedger
    queues: Queues
    publisher: Publisher


@dataclass(frozen=True, kw_only=True)
class NotifyWiring:
    ledger: SystemLedger
    webhooks: Webhooks
    mail: Mail | None = None  #: None: this installation sends no e-mails
    page_url: str | None = None
    clock: Callable[[], datetime] = utc_now


@dataclass(frozen=True, kw_only=True)
class SweepWiring:
    ledger: SystemLedger
    slides: SlideStore
    queues: Queues
    upload_days: float
    stuck_seconds: float
    give_up_seconds: float
    metrics_namespace: str


def api_wiring(settings: Api) -> ApiWiring:
    clients = _clients(settings)
    return ApiWiring(
        ledger=PostgresTenantLedger(_connections(settings, settings.region)),
        slides=S3SlideStore(clients, settings.slides_bucket, settings.allowed),
        objects=S3Objects(clients, settings.results_bucket),
        queues=SqsQueues(clients, settings.queue_prefix),
        allowed_buckets=settings.allowed,
        dollars_per_gpu_hour=settings.dollars_per_gpu_hour,
        realtime_url=settings.realtime_url,
        page_origins=settings.origins,
    )


def authorizer_wiring(settings: Authorizer) -> AuthorizerWiring:
    return AuthorizerWiring(
        identities=PostgresIdentities(_connections(settings, settings.region)),
        issuer=settings.issuer,
        client_id=settings.client_id,
        jwks_url=settings.jwks_url,
    )


def slide_jobs_wiring(settings: SlideJobs) -> SlideJobsWiring:
    clients = _clients(settings)
    return SlideJobsWiring(
        ledger=PostgresSystemLedger(_connections(settings, settings.region)),
        slides=S3SlideStore(clients, settings.slides_bucket, settings.allowed, settings),
        objects=S3Objects(clients, settings.results_bucket),
        queues=SqsQueues(clients, settings.queue_prefix),
        max_scratch_bytes=settings.max_scratch_bytes,
        shard_tiles=settings.shard_tiles,
    )


def tiles_wiring(settings: Tiles) -> TilesWiring:
    clients = _clients(settings)
    return TilesWiring(
        ledger=PostgresTenantLedger(_connections(settings, settings.region)),
        slides=S3SlideStore(clients, settings.slides_bucket, settings.allowed, settings),
        objects=S3Objects(clients, settings.results_bucket),
        page_origins=settings.origins,
    )


def stitch_wiring(settings: Stitch) -> StitchWiring:
    clients = _clients(settings)
    return StitchWiring(
        ledger=PostgresSystemLedger(_connections(settings, settings.region)),
        objects=S3Objects(clients, settings.results_bucket),
        queues=SqsQueues(clients, settings.queue_prefix),
    )


def relay_wiring(settings: Relay) -> RelayWiring:
    clients = _clients(settings)
    return RelayWiring(
        ledger=PostgresSystemLedger(_connections(settings, settings.region)),
        queues=SqsQueues(clients, settings.queue_prefix),
        publisher=AppSyncPublisher(clients, settings.appsync_url),
    )


def notify_wiring(settings: Notify) -> NotifyWiring:
    clients = _clients(settings)
    sender = settings.mail_from
    return NotifyWiring(
        ledger=PostgresSystemLedger(_connections(settings, settings.region)),
        webhooks=LambdaWebhooks(clients, settings.webhook_function),
        mail=SesMail(clients, sender, settings.mail_configuration_set) if sender else None,
        page_url=settings.page_url,
    )


def sweep_wiring(settings: Sweep) -> SweepWiring:
    clients = _clients(settings)
    return SweepWiring(
        ledger=PostgresSystemLedger(_connections(settings, settings.region)),
        slides=S3SlideStore(clients, settings.slides_bucket),
        queues=SqsQueues(clients, settings.queue_prefix),
        upload_days=settings.upload_days,
        stuck_seconds=settings.stuck_seconds,
        give_up_seconds=settings.give_up_seconds,
        metrics_namespace=metrics.namespace(settings.queue_prefix),
    )


def administration(settings: Owner) -> Administration:
    return Administration(partial(owner_dsn, settings, _clients(settings)))


def _clients(settings: Aws) -> AwsClients:
    return AwsClients(settings.region, settings.endpoint_url)


def _connections(settings: Database, region: str) -> Connections:
    return Connections(settings.database_dsn, iam=settings.database_iam, region=region)
