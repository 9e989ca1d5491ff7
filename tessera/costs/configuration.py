"""The parts of an installation that AWS charges for. tests/cdk/test_costs.py compares it with the
templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from types import MappingProxyType

from adapters.settings.prices import PRICES
from tessera.local_run.inputs import UsageError

_TRUE, _FALSE = ("true", "True"), ("false", "False")


class Preset(StrEnum):
    DEV = "dev"
    PROD = "prod"


@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    """The settings of a deployment that change its bill, under the names that they have in the CDK's context. Then the
    numbers of resources, which the stacks fix."""

    nat_gateways: int
    database_instance_type: str
    database_multi_az: bool
    warm_nodes: int
    log_days: int
    instant_retrieval_after_days: int = 30
    worker_image: str = "docker"  #: or "codebuild", or a URI
    trace_share: float = 1.0
    recovery_region: str | None = None

    @property
    def has_image_builds(self) -> bool:
        return self.worker_image == "codebuild"

    @property
    def databases(self) -> int:
        return 2 if self.database_multi_az else 1


#: Hours a month in which warm nodes are kept: `warm_hours` as it is by default, 12 h on 22 working days.
WARM_HOURS_A_MONTH = 12 * 22

SYSTEM_NODES = 2  #: r7i.large
SYSTEM_DISK_GB, GPU_DISK_GB = 100, 50
DATABASE_DISK_GB = 20
PROXY_PROCESSORS = 2  #: of t4g.medium and of m7g.large
KEYS = 5  #: one of them for bounces of e-mails, which an installation without mail_from does not have
SECRETS = 1  #: the owner's password, which RDS keeps
FIREWALL_RULES = 7
ALARM_METRICS_WITHOUT_NAT = 105  #: an alarm on a formula is charged for each metric in it
ALARM_METRICS_A_NAT = 2
COMPOSITE_ALARMS = 4
DASHBOARDS = 1
CUSTOM_METRICS = 32  #: 23 that the sweep writes, and those that filters count in logs: of authorizer and releases
RECOVERY_KEYS = 2  #: of replicas and backups, and of the topic of alarms there
RECOVERY_ALARM_METRICS = 6  #: late and failed copies of three buckets
RECOVERY_METRICS = 12  #: four that S3 publishes for each of three buckets
QUEUES_OF_FUNCTIONS = 5
QUEUES_OF_PODS = 4
FUNCTIONS_A_MINUTE = 2  #: that run once a minute: sweep and relay

PRESETS: Mapping[Preset, Configuration] = MappingProxyType(
    {
        Preset.DEV: Configuration(
            nat_gateways=1, database_instance_type="t4g.medium", database_multi_az=False, warm_nodes=0, log_days=30
        ),
        Preset.PROD: Configuration(
            nat_gateways=3, database_instance_type="m7g.large", database_multi_az=True, warm_nodes=1, log_days=90
        ),
    }
)


def make_configuration(preset: Preset, context: Iterable[str] = ()) -> Configuration:
    """Return the configuration of a preset, changed by settings as the CDK takes them, `name=value`. Raises
    UsageError."""
    changes = dict(_read_setting(setting) for setting in context)
    configuration = replace(PRESETS[preset], **changes)
    if f"RDS {configuration.database_instance_type}" not in PRICES:
        known = [name.removeprefix("RDS ") for name in PRICES if name.startswith("RDS ") and "." in name]
        raise UsageError(
            f"The table has no price of database_instance_type {configuration.database_instance_type}; it has those of"
            f" {', '.join(known)}."
        )
    return configuration


def _read_setting(setting: str) -> tuple[str, object]:
    name, equals, text = setting.partition("=")
    types = {field.name: field.type for field in fields(Configuration)}
    if not equals or name not in types:
        raise UsageError(f"-c takes name=value of a setting that changes the bill, {', '.join(types)}; not {setting}.")
    if types[name] == "bool":
        if text not in (*_TRUE, *_FALSE):
            raise UsageError(f"{name} is true or false, not {text}.")
        return name, text in _TRUE
    if types[name] == "int":
        if not text.isdecimal():
            raise UsageError(f"{name} is a whole number, not {text}.")
        return name, int(text)
    if types[name] == "float":
        return name, _read_share(name, text)
    return name, text


def _read_share(name: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"{name} is a number from 0 to 1, not {text}.")
    return share
