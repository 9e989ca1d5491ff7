"""One installation of Tessera: the choices of its deployer, typed and checked before anything is made."""

from __future__ import annotations

import difflib
import ipaddress
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from adapters.settings.prices import DOLLARS_PER_GPU_HOUR
from adapters.settings.tracing import XRAY
from cdk import shapes
from cdk.capacity import get_instance_type
from cdk.retention import log_retention
from cdk.scale.addresses import AddressPlan
from cdk.scale.load import PEAK_FACTOR, TILES_A_GPU_SECOND, TILES_A_SLIDE, Scale
from cdk.sign_on import SignOn, parse

#: Keys without a colon or a slash that the CDK's command itself leaves in the context; its other keys have one.
_KEYS_OF_THE_COMMAND = frozenset({"acknowledged-issue-numbers", "cli-telemetry"})


def _split(value: object) -> object:
    """Split a string at its commas: `-c name=a,b` can give strings only; cdk.json can give a list."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


_LISTED = BeforeValidator(_split)
HOME_REGION = "eu-central-1"
HOME_ZONES = ("eu-central-1a", "eu-central-1b", "eu-central-1c")
#: Builders of the worker's image, as `worker_image` names them.
DOCKER, CODEBUILD = "docker", "codebuild"
#: The environment of `make deploy-emulated`, whose functions run on no Lambda.
_EMULATED = "emulated"
#: Of each group of GPU nodes, and no setting: CloudFormation sends a group's limits together with its size, so their
#: change under load would end every worker. 450 is EKS' own quota (docs/decisions/0106, 0111).
MOST_GPU_NODES = 450


class WrongDeployment(ValueError):
    """The context describes nothing that can be deployed; a sentence a line for each thing that is wrong."""


class WarmHours(BaseModel):
    """The hours in which one GPU node is kept warm: cron expressions of KEDA's scaler, in a time zone of the IANA
    database."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: shapes.Cron = "0 7 * * 1-5"
    end: shapes.Cron = "0 19 * * 1-5"
    timezone: str = "Etc/UTC"


class Deployment(BaseModel):
    """Comes from the CDK's context: a preset, and over it what `cdk.json` or `-c name=value` says.

    Durations and sizes carry their unit in the name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    environment: shapes.Environment  #: Prefix of all names; an account can hold several environments.
    region: shapes.Region = HOME_REGION  #: AWS region of all stacks.
    #: At least two; required outside eu-central-1. GPU spot capacity differs by zone: name all zones of the region.
    availability_zones: Annotated[tuple[str, ...], _LISTED] = ()

    #: Domain of page and API, as wsi.example.org; needs certificate_arn.
    domain: shapes.Domain | None = None
    #: Certificate of the domain. CloudFront accepts certificates in us-east-1 only.
    certificate_arn: shapes.Certificate | None = None
    #: Exact origins of further pages that may upload, sign in and call the API, such as the CloudFront address.
    page_origins: Annotated[tuple[shapes.Origin, ...], _LISTED] = ()
    #: Single sign-on with the provider of SAML or OpenID Connect that docs/how-to/sign-on.md describes.
    sign_on: Annotated[SignOn | None, BeforeValidator(parse)] = None
    #: Whether everybody with a password here signs in with a second factor too. Only a trial may do without.
    demands_second_factor: bool = True
    mail_from: shapes.Sender | None = None  #: Domain or address that SES may send from; without it no e-mails.
    allowed_buckets: Annotated[
        tuple[shapes.Bucket, ...], _LISTED
    ] = ()  #: Your own buckets that may hold sources of tenants: where slides by reference lie.
    allowed_bucket_keys: Annotated[tuple[shapes.Key, ...], _LISTED] = ()  #: ARNs of those buckets' KMS keys.

    #: The load that all parts are sized for (docs/explanation/scaling.md).
    slides_per_day: int = Field(gt=0)
    tiles_per_slide: int = Field(default=TILES_A_SLIDE, gt=0)  #: Tiles of tissue that a model sees.
    tiles_per_gpu_second: float = Field(default=TILES_A_GPU_SECOND, gt=0)  #: Of your model on one GPU node.
    peak_factor: float = Field(default=PEAK_FACTOR, ge=1)  #: Slides of the busiest hour to those of the mean hour.

    #: All of one size; several types raise the chance of spot capacity.
    gpu_instance_types: Annotated[tuple[shapes.GpuInstanceType, ...], _LISTED, Field(min_length=1)] = (
        *("g4dn.2xlarge", "g5.2xlarge", "g6.2xlarge", "g6e.2xlarge"),
    )
    dollars_per_gpu_hour: float = Field(default=DOLLARS_PER_GPU_HOUR, gt=0)  #: Price that dry runs calculate with.
    #: GPU workers at once, one a node: the only limit on what GPUs cost. Without it, what slides_per_day asks for.
    max_gpu_workers: int = Field(
        default_factory=lambda given: min(MOST_GPU_NODES, _derive_scale(given).gpu_workers), gt=0, le=MOST_GPU_NODES
    )
    uses_on_demand_gpus: bool = True  #: Whether on-demand nodes take over when no zone has spot capacity.
    warm_nodes: int = Field(ge=0)  #: GPU nodes that stay up without work during warm_hours.
    warm_hours: WarmHours = WarmHours()  #: Cron expressions and a time zone.

    #: Role that may administer the cluster, with kubectl for example. Without it only the deployment itself may.
    cluster_admin_role_arn: shapes.Role | None = None
    #: Addresses that may reach Kubernetes' API, as 203.0.113.7/32. Without them only the VPC can.
    cluster_endpoint_cidrs: Annotated[tuple[str, ...], _LISTED] = ()

    database_instance_type: str  #: One of those listed in cdk/capacity.py.
    database_multi_az: bool  #: Whether a standby in a second zone takes over.
    #: At most one a zone. Without it each zone has its own, so that a lost zone cuts no other off.
    nat_gateways: int | None = Field(default=None, gt=0)
    #: Length of the private subnets' prefix: 19 has addresses for 2,000 nodes in three zones. Never change it of an
    #: installation that exists, since that replaces its subnets: one from before this setting has 20.
    private_subnet_mask: int = Field(default=19, ge=19, le=20)
    #: Second region, which gets copies of slides, results, models and database backups. Without it a lost region is a
    #: lost installation.
    recovery_region: shapes.Region | None = None
    #: Whether the buckets of slides and results have S3 Object Lock, by which S3 itself keeps what is under a legal
    #: hold. Never change it of an installation that exists, since that replaces its buckets with empty ones.
    object_lock: bool = False
    #: After a loss, in the second region: its buckets of slides, results and models, to go on with.
    adopted_buckets: Annotated[tuple[shapes.Bucket, ...], _LISTED] = ()
    adopted_key_arn: shapes.Key | None = None  #: ARN of those buckets' KMS key.
    #: ARN of the replicated backup that the database is made from. Give it with every later deployment too.
    restored_from: shapes.ReplicatedBackup | None = None
    backup_days: int = Field(default=30, ge=1, le=35)  #: Days that database backups are kept.
    keeps_data: bool  #: Deletion protection; buckets, keys and database outlive the stacks.
    instant_retrieval_after_days: int = Field(default=30, ge=1)  #: Age of originals that move to cold storage.
    log_days: int = 90  #: Days that logs are kept.
    audit_days: int = 365  #: Days that the audit trail is kept.

    #: Share of slides whose way from upload to result X-Ray records, for `tessera admin trace`; 0: none.
    trace_share: float = Field(default=1.0, ge=0, le=1)

    alarm_email: shapes.Email | None = None  #: Where alarms go; without it they reach nobody.
    #: Costs above it raise an alarm. Without it, idle costs and those of slides_per_day.
    monthly_budget_dollars: int = Field(default_factory=lambda given: _derive_scale(given).budget_dollars_a_month, gt=0)
    #: What detects unusual costs: "tag", a monitor of this installation's tag, which in an organisation only the
    #: payer's account may create; the ARN of an existing monitor; or "nobody".
    unusual_costs: shapes.UnusualCosts = "tag"

    #: The image that the worker's is built from, with its digest; without it the tag that gpu_worker/Dockerfile names.
    worker_base: shapes.PinnedImage | None = None
    #: What builds the worker's image from gpu_worker/Dockerfile: "docker", on the machine that deploys, or "codebuild",
    #: on AWS. Or the URI of an image that is in a registry already.
    worker_image: shapes.WorkerImage = DOCKER
    emulated: bool = False  #: For MiniStack on this machine: see docs/how-to/emulated.md.

    @model_validator(mode="after")
    def _check_choices(self) -> Self:
        if (self.domain is None) != (self.certificate_arn is None):
            raise ValueError("domain and certificate_arn belong together: give both or neither.")
        if self.keeps_data and not self.demands_second_factor:
            raise ValueError("demands_second_factor=false is for trials: an installation that keeps data needs it.")
        if not self.zones:
            raise ValueError(
                f"Name availability_zones of {self.region}, as your account has them: aws ec2"
                f" describe-availability-zones --region {self.region} --query AvailabilityZones[].ZoneName"
            )
        for zone in self.zones:
            if zone[:-1] != self.region:
                raise ValueError(f"availability_zones must lie in region {self.region}: {zone}")
        if len(set(self.zones)) < max(2, len(self.zones)):
            raise ValueError("Name at least two availability_zones, each once: the database and the cluster need them.")
        if self.nat_gateway_count > len(self.zones):
            raise ValueError(f"nat_gateways must be at most one a zone: there are {len(self.zones)} zones.")
        if self.recovery_region == self.region:
            raise ValueError(f"recovery_region must be another region than {self.region}.")
        if len(self.adopted_buckets) != (3 if self.adopted_key_arn else 0):
            raise ValueError(
                "adopted_buckets must be three, of slides, results and models, and need adopted_key_arn:"
                " scripts/restore.sh names them."
            )
        if self.adopted_buckets and self.recovery_region:
            raise ValueError("recovery_region needs buckets of this installation: it cannot replicate adopted_buckets.")
        if self.warm_nodes > self.max_gpu_workers:
            raise ValueError(f"warm_nodes must be at most max_gpu_workers, which is {self.max_gpu_workers}.")
        if self.emulated and self.environment != _EMULATED:
            raise ValueError("emulated is for `make deploy-emulated` on this machine: its functions run on no Lambda.")
        if not self.addresses.suffices:
            raise ValueError(
                f"The nodes would take {self.addresses.needed:,} addresses of the private subnets, which have"
                f" {self.addresses.available:,}: lower slides_per_day or max_gpu_workers, or name more zones."
            )
        get_instance_type(self.database_instance_type)
        for cidr in self.cluster_endpoint_cidrs:
            _check_cidr(cidr)
        for days in (self.log_days, self.audit_days):
            log_retention(days)
        return self

    @property
    def traced(self) -> dict[str, Any]:
        """Return the settings of a process that a slide passes through. The emulator has no X-Ray."""
        return {} if self.emulated or not self.trace_share else {"traces": XRAY, "trace_share": self.trace_share}

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones, where all accounts of the region have the same ones; elsewhere accounts differ."""
        return self.availability_zones or (HOME_ZONES if self.region == HOME_REGION else ())

    @property
    def nat_gateway_count(self) -> int:
        return self.nat_gateways or len(self.zones)

    @property
    def scale(self) -> Scale:
        """The numbers that slides_per_day asks for. Settings that are given explicitly win over them."""
        return _derive_scale({name: getattr(self, name) for name in _OF_SCALE})

    @property
    def addresses(self) -> AddressPlan:
        """The plan of the private subnets' addresses, for as many nodes as there may be."""
        return AddressPlan(
            gpu_nodes=self.max_gpu_workers + self.warm_nodes,
            system_nodes=self.scale.system_nodes,
            zones=len(self.zones),
            mask=self.private_subnet_mask,
        )

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins from which browsers may upload and sign in."""
        own = (f"https://{self.domain}",) if self.domain else ()
        return own + self.page_origins

    @property
    def prefix(self) -> str:
        """Begins the names of queues and stacks."""
        return f"tessera-{self.environment}"

    @property
    def queue_prefix(self) -> str:
        return f"{self.prefix}-"

    @classmethod
    def from_context(cls, context: Mapping[str, Any]) -> Deployment:
        """Read the CDK's whole context. Keys with a colon or a slash are the CDK's own, all others ours.

        `environment` is a preset's name, or any name if `preset` is given too. Raises WrongDeployment.
        """
        given = {name: value for name, value in context.items() if _is_ours(name) and value is not None}
        environment = str(given.setdefault("environment", "dev"))
        preset = str(given.pop("preset", environment))
        if preset not in PRESETS:
            raise WrongDeployment(f"There is no preset {preset}: give preset={' or preset='.join(PRESETS)}.")
        try:
            return cls.model_validate({**PRESETS[preset], **given})
        except ValidationError as error:
            raise WrongDeployment(
                "\n".join(
                    _sentence(one["loc"], one["type"], one["msg"])
                    for one in error.errors()
                    if one["type"] != "default_factory_not_called"  # a consequence of another error in this list
                )
            ) from error


_OF_SCALE = (
    *("slides_per_day", "tiles_per_slide", "tiles_per_gpu_second", "peak_factor"),
    *("dollars_per_gpu_hour", "database_multi_az"),
)
#: Dollars a month without and with a standby of the database (docs/how-to/deploy.md, "What it costs").
_IDLE_DOLLARS, _IDLE_DOLLARS_WITH_STANDBY = 500, 900


def _derive_scale(given: Mapping[str, Any]) -> Scale:
    return Scale(
        slides_a_day=given["slides_per_day"],
        tiles_a_slide=given["tiles_per_slide"],
        tiles_a_gpu_second=given["tiles_per_gpu_second"],
        peak_factor=given["peak_factor"],
        dollars_a_gpu_hour=given["dollars_per_gpu_hour"],
        # Absent while the numbers of nodes are derived, which do not depend on it.
        idle_dollars_a_month=_IDLE_DOLLARS_WITH_STANDBY if given.get("database_multi_az") else _IDLE_DOLLARS,
    )


def _check_cidr(cidr: str) -> None:
    try:
        network = ipaddress.ip_network(cidr)
    except ValueError as error:
        raise ValueError(f"cluster_endpoint_cidrs must be networks, as 203.0.113.0/24: {cidr}") from error
    if network.prefixlen == 0:
        raise ValueError(f"cluster_endpoint_cidrs must not let everybody in: {cidr}")


def _is_ours(key: str) -> bool:
    return ":" not in key and "/" not in key and key not in _KEYS_OF_THE_COMMAND


def _sentence(where: tuple[int | str, ...], type: str, message: str) -> str:
    name = ".".join(part for part in where if isinstance(part, str))
    if type == "extra_forbidden":
        near = difflib.get_close_matches(name, ("preset", *Deployment.model_fields), n=1)
        return f"{name} is no setting of Tessera.{f' Did you mean {near[0]}?' if near else ''}"
    text = message.removeprefix("Value error, ")
    if not name:
        return text
    return f"{name} {text}" if type == "value_error" else f"{name}: {text}"


#: dev costs little while it idles and is gone when destroyed; prod survives the loss of a zone and of a stack.
PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "dev": {
            "slides_per_day": 350,
            "warm_nodes": 0,
            "database_instance_type": "t4g.medium",
            "database_multi_az": False,
            "nat_gateways": 1,
            "backup_days": 7,
            "keeps_data": False,
            "log_days": 30,
            "unusual_costs": "nobody",
        },
        "prod": {
            "slides_per_day": 1_700,
            "warm_nodes": 1,
            "database_instance_type": "m7g.large",
            "database_multi_az": True,
            "keeps_data": True,
        },
    }
)
