"""One settings class a process. The construct that deploys a process builds its class and calls `.make_environ()`."""

from __future__ import annotations

from pydantic import Field

from adapters.settings.cold_start import sum_parts
from adapters.settings.environment import Environment
from adapters.settings.prices import DOLLARS_PER_GPU_HOUR
from adapters.settings.queues import POD_VISIBILITY
from adapters.settings.reads import ReadLimits
from adapters.settings.scaling import IDLE_SECONDS, compute_shards_in_flight

_USUAL_START, _SLOW_START = (round(seconds) for seconds in sum_parts())


class AwsSettings(Environment):
    """Settings of every process that talks to AWS. Credentials come the SDK's usual way."""

    region: str  #: AWS region.
    endpoint_url: str | None = None  #: Address of an AWS emulator; unset on AWS.


class DatabaseSettings(AwsSettings):
    """The address of Postgres, in the role of this process; a token of IAM is for a region."""

    database_dsn: str  #: Postgres connection string; on AWS without a password.
    database_iam: bool = False  #: Whether an IAM token is the password, as on AWS.


class OwnerSettings(AwsSettings):
    """The address of Postgres for migrations and administration: the instance itself, as the schema's owner."""

    database_dsn: str  #: Postgres connection string; on AWS without user and password.
    #: ARN of the secret with username and password, which RDS rotates; without it the DSN holds them.
    owner_secret: str | None = None


class TracedSettings(AwsSettings):
    """The traces of a process that a slide passes through."""

    traces: str | None = None  #: Where spans go: "xray", or the path of a file; without it none are recorded.
    trace_share: float = Field(default=1.0, ge=0, le=1)  #: Share of traces that are recorded, chosen by their ids.


class RecoverySettings(OwnerSettings):
    """The function that records objects in the buckets that took over from lost ones."""

    slides_bucket: str  #: Bucket of uploaded slides.
    results_bucket: str  #: Bucket of results and of what inspection stores.
    models_bucket: str  #: Bucket of model packages.


class SlideBuckets(Environment):
    """The buckets of slides."""

    slides_bucket: str  #: Bucket of uploaded slides.
    #: Comma-separated buckets that hold sources of tenants: no source counts beyond them.
    allowed_buckets: str = ""
    #: ARN of the role that reads tenants' sources, one a session; unset: the process's own credentials.
    source_role: str | None = None

    @property
    def allowed(self) -> frozenset[str]:
        return frozenset(name.strip() for name in self.allowed_buckets.split(",") if name.strip())


class QueueNames(Environment):
    """The prefix of the queues' names."""

    queue_prefix: str = "tessera-"  #: Prefix of the names of all queues.


class AdministrationSettings(OwnerSettings, QueueNames):
    """The function of operators' actions, which wakes the relay after each."""


class AuthorizerSettings(DatabaseSettings):
    """The authorizer of REST and AppSync."""

    issuer: str  #: Required `iss` of tokens.
    jwks_url: str  #: Where the keys of tokens are; an emulator's tokens name the real AWS issuer.
    client_id: str  #: App client that tokens must be issued for.


class SignOnSettings(Environment):
    """The trigger of single sign-on, which writes tenant and role into tokens."""

    provider: str  #: Name of the identity provider in the pool.
    is_saml: bool  #: Whether it speaks SAML; otherwise OpenID Connect.
    roles: str  #: JSON: of each group, the tenant's name and the role.


class Pages(Environment):
    """Pages of other origins than the API's own."""

    page_origins: str = ""  #: Comma-separated exact origins of pages that may read answers.

    @property
    def origins(self) -> frozenset[str]:
        return frozenset(origin for origin in self.page_origins.split(",") if origin)


class Prices(Environment):
    """The price of workers."""

    dollars_per_gpu_hour: float = Field(default=DOLLARS_PER_GPU_HOUR, gt=0)  #: Price of usage, budgets and dry runs.


class SubmitSettings(DatabaseSettings, QueueNames, Pages, Prices, TracedSettings):
    """The function that starts jobs and answers dry runs."""

    results_bucket: str  #: Bucket of results and of what inspection stores.


class LockedObjects(Environment):
    """The locks of uploaded slides and of results."""

    object_lock: bool = False  #: Whether the buckets of slides and results have S3 Object Lock.


class ApiSettings(SubmitSettings, SlideBuckets, LockedObjects):
    """The function of the REST API."""

    models_bucket: str  #: Bucket of model packages.
    realtime_url: str | None = None  #: Address of the AppSync subscriptions, which /health reports to clients.
    #: Seconds from the first waiting shard to the first scored tile if no worker is up, which waiting jobs are told.
    worker_start_seconds: float = Field(default=_USUAL_START, ge=0)
    slow_worker_start_seconds: float = Field(default=_SLOW_START, ge=0)  #: The same if every part of it is slow.
    most_workers: int = Field(default=1, gt=0)  #: Workers at once, at most.
    operate_function: str | None = None  #: Name or ARN of the function `operate`; without it operators do nothing here.
    issuer: str | None = None  #: `iss` of the tokens of the user pool.
    user_pool: str | None = None  #: Cognito user pool that accounts are made in; without it by another sign-in.
    mails_invitations: bool = True  #: Whether the pool sends mails; if not, the API answers with the first password.


class SlideJobSettings(DatabaseSettings, SlideBuckets, QueueNames, ReadLimits, TracedSettings):
    """The functions inspect and plan."""

    results_bucket: str  #: Bucket of results and of what inspection stores.
    max_scratch_bytes: int = Field(default=8 * 1024**3, gt=0)  #: Largest copy of a slide that OpenSlide reads.
    shard_tiles: int | None = Field(default=None, gt=0)  #: Fixed shard size; without it the model's rate decides.


class TilesSettings(DatabaseSettings, SlideBuckets, ReadLimits, Pages):
    """The function of the viewer's tiles. A viewer waits, and asks again by itself: few and short attempts."""

    results_bucket: str  #: Bucket of results and of what inspection stores.
    read_attempts: int = Field(default=3, gt=0)  #: Attempts of a read.
    read_request_seconds: float = Field(default=5.0, gt=0)  #: Seconds from a request to the last byte of its answer.


class HeavySettings(SlideJobSettings):
    """`python -m gpu_worker.heavy`: makes plans for which a function lacks the time or the disk, and puts vectors and
    objects together."""

    scratch: str = "/tmp/tessera-scratch"  #: Folder of slide copies.
    visibility_seconds: int = Field(default=POD_VISIBILITY, gt=0)  #: Visibility of a message, extended during a plan.
    idle_seconds: float = Field(default=IDLE_SECONDS, ge=0)  #: Exits after this long without work; 0: never.
    health_port: int | None = None  #: Port of the health paths; unset: none.


class StitchSettings(DatabaseSettings, QueueNames, TracedSettings):
    """The function that stitches results."""

    results_bucket: str  #: Bucket of results.


class RelaySettings(DatabaseSettings, QueueNames, TracedSettings):
    """The function that sends the outbox."""

    appsync_url: str  #: GraphQL address that updates are published to.
    #: Most shards of one priority in its queue and with workers, which the tenants that wait share equally.
    shards_in_flight: int = Field(default=compute_shards_in_flight(4), gt=0)


class SweepSettings(DatabaseSettings, QueueNames, Prices, LockedObjects):
    """The function that repairs, once a minute, what deaths and lost messages left behind, and erases what was
    deleted."""

    slides_bucket: str  #: Bucket of uploaded slides, whose files are archived, restored and erased.
    results_bucket: str  #: Bucket of results and of what inspection stores.
    upload_days: float = Field(default=3.0, gt=0)  #: Age at which an unfinished upload is deleted.
    stuck_seconds: float = Field(default=900.0, gt=0)  #: Time without a move after which the message is sent again.
    give_up_seconds: float = Field(default=86_400.0, gt=0)  #: Time after which a job fails and a slide is rejected.


class NotifySettings(DatabaseSettings, TracedSettings):
    """The function that sends e-mails and webhooks when a job ends."""

    webhook_function: str  #: Name or ARN of the function `webhook_send`.
    mail_from: str | None = None  #: Sender's address; without it no e-mails are sent.
    mail_configuration_set: str | None = None  #: SES configuration set, which reports bounces.
    page_url: str | None = None  #: Address of the page that messages link to, without a slash at its end.


class WebhookSendSettings(Environment):
    """The function that opens a customer's URL. It has no settings, so that a receiver learns nothing."""


class ImageBuildSettings(AwsSettings):
    """The function that lets CodeBuild build the worker's image while its stack is deployed."""

    build_project: str  #: CodeBuild project that builds the image.
    image_repository: str  #: ECR repository of the images.


class WorkerSettings(DatabaseSettings, SlideBuckets, QueueNames, ReadLimits, TracedSettings):
    """`python -m gpu_worker`: computes shards and tries new models."""

    results_bucket: str  #: Bucket of results and of what inspection stores.
    models_bucket: str  #: Bucket of model packages.
    device: str = "cpu"  #: "cpu", "cuda", "cuda:1", or "cuda:all": a process a GPU, under one parent.
    idle_seconds: float = Field(default=IDLE_SECONDS, ge=0)  #: Exits after this long without work; 0: never.
    lease_seconds: float = Field(default=180.0, gt=0)  #: Length of a lease, which a heartbeat extends.
    #: Time without a step after which a shard fails as stuck. The longest legitimate steps, loading and compiling a
    #: large model and a range read with all its attempts, take less than five minutes.
    stuck_seconds: float = Field(default=600.0, gt=0)
    checkpoint_seconds: float = Field(default=10.0, gt=0)  #: Most seconds between two checkpoints.
    checkpoint_batches: int = Field(default=8, gt=0)  #: Most batches between two checkpoints.
    decode_workers: int | None = Field(default=None, gt=0)  #: Decoders of each device; without it the device decides.
    #: Decode in processes on the CPU too: a codec that crashes on a damaged tile costs that tile, not the worker.
    decode_in_processes: bool = False
    #: Run models that are code in locked processes of their own: Linux with Landlock, on x86-64. Off, they run in the
    #: worker, with its credentials.
    lock_models: bool = True
    model_cache: str = "/tmp/tessera-models"  #: Folder of downloaded packages.
    scratch: str = "/tmp/tessera-scratch"  #: Folder of slide copies.
    max_scratch_bytes: int = Field(default=200 * 1024**3, gt=0)  #: Largest copy of a slide that OpenSlide reads.
    #: Port of health and metrics; with cuda:all the parent's port, and its workers have the next ones.
    health_port: int | None = None
