"""One settings class a process. The construct that deploys a process builds its class and calls `.environ()`."""

from __future__ import annotations

from pydantic import Field

from adapters.settings.environment import Environment
from adapters.settings.queues import POD_VISIBILITY
from adapters.settings.reads import Reads
from adapters.settings.scaling import IDLE_SECONDS


class Aws(Environment):
    """What every process that talks to AWS knows. Credentials come the SDK's usual way."""

    region: str
    endpoint_url: str | None = None  #: None on AWS; the emulator's address in the embedded stack


class Database(Environment):
    """How to reach Postgres, in the role of this process."""

    database_dsn: str  #: without a password on AWS (IAM token), whole in the embedded stack
    database_iam: bool = False


class Owner(Aws):
    """How migrations and administration reach Postgres: the instance itself, as the owner of the schema."""

    database_dsn: str  #: without user and password on AWS, whole elsewhere
    owner_secret: str | None = None  #: ARN of {"username", "password"}, which RDS keeps and rotates; None: in the DSN


class SlideBuckets(Environment):
    """Where slides lie."""

    slides_bucket: str
    allowed_buckets: str = ""  #: comma-separated; slides may be registered from these by reference

    @property
    def allowed(self) -> frozenset[str]:
        return frozenset(name.strip() for name in self.allowed_buckets.split(",") if name.strip())


class QueueNames(Environment):
    queue_prefix: str = "tessera-"


class Authorizer(Aws, Database):
    issuer: str  #: `iss` of the tokens
    jwks_url: str  #: apart from the issuer: an emulator's tokens name the real AWS issuer
    client_id: str  #: app client that tokens must be made for


class Pages(Environment):
    """Pages of other origins than the API's own."""

    page_origins: str = ""  #: comma-separated, exact; pages from there may read answers

    @property
    def origins(self) -> frozenset[str]:
        return frozenset(origin for origin in self.page_origins.split(",") if origin)


class Api(Aws, Database, SlideBuckets, QueueNames, Pages):
    results_bucket: str
    dollars_per_gpu_hour: float = Field(default=0.53, gt=0)
    realtime_url: str | None = None  #: of the AppSync subscriptions, told to clients by /health


class SlideJobs(Aws, Database, SlideBuckets, QueueNames, Reads):
    """inspect and plan."""

    results_bucket: str
    max_scratch_bytes: int = Field(default=8 * 1024**3, gt=0)
    shard_tiles: int | None = Field(default=None, gt=0)  #: fixed shard size; None: by the model's rate


class Tiles(Aws, Database, SlideBuckets, Reads, Pages):
    """A viewer waits: whoever gets no answer in time asks again by himself."""

    results_bucket: str
    read_attempts: int = Field(default=3, gt=0)
    read_request_seconds: float = Field(default=5.0, gt=0)


class Heavy(SlideJobs):
    """`python -m gpu_worker.heavy`: plans that a function has not the time or the disk for."""

    scratch: str = "/tmp/tessera-scratch"
    visibility_seconds: int = Field(default=POD_VISIBILITY, gt=0)  #: extended while the plan is made
    idle_seconds: float = Field(default=IDLE_SECONDS, ge=0)  #: exits after so long without work; 0: never
    health_port: int | None = None


class Stitch(Aws, Database, QueueNames):
    results_bucket: str


class Relay(Aws, Database, QueueNames):
    appsync_url: str


class Sweep(Aws, Database, QueueNames):
    slides_bucket: str  #: whose files go to the archive and come back
    upload_days: float = Field(default=3.0, gt=0)
    stuck_seconds: float = Field(default=900.0, gt=0)  #: then the message is sent again
    give_up_seconds: float = Field(default=86_400.0, gt=0)  #: then a job FAILED, a slide is REJECTED


class Notify(Aws, Database):
    webhook_function: str  #: name or ARN of the function `webhook_send`
    mail_from: str | None = None  #: sender's address; None: no e-mails are sent
    mail_configuration_set: str | None = None
    page_url: str | None = None  #: where people look at jobs, without a slash at its end


class WebhookSend(Environment):
    """It is told nothing, so that a receiver learns nothing."""


class Worker(Aws, Database, SlideBuckets, QueueNames, Reads):
    results_bucket: str
    models_bucket: str
    device: str = "cpu"  #: "cpu", "cuda", "cuda:1", or "cuda:all": a process a GPU, below a parent
    idle_seconds: float = Field(default=IDLE_SECONDS, ge=0)  #: exits after so long without work; 0: never
    lease_seconds: float = Field(default=180.0, gt=0)
    #: Without a step: the shard fails as stuck. The longest honest steps, loading and compiling a large model, and a
    #: range read with all its tries, take below five minutes.
    stuck_seconds: float = Field(default=600.0, gt=0)
    checkpoint_seconds: float = Field(default=10.0, gt=0)
    checkpoint_batches: int = Field(default=8, gt=0)
    decode_workers: int | None = Field(default=None, gt=0)  #: of each device; None: as many as suit it
    #: On the CPU too: a codec that a damaged tile brings down costs that tile, not the worker.
    decode_in_processes: bool = False
    model_cache: str = "/tmp/tessera-models"
    scratch: str = "/tmp/tessera-scratch"
    max_scratch_bytes: int = Field(default=200 * 1024**3, gt=0)
    health_port: int | None = None  #: with cuda:all the parent's, for all; its workers have the next ones
