"""The lines of a bill that are due without any slide."""

from __future__ import annotations

from collections.abc import Iterator

from adapters.settings.prices import HOURS_A_MONTH
from adapters.settings.scaling import POLLING_SECONDS
from tessera.costs import configuration as installed
from tessera.costs.bill_line import BillLine
from tessera.costs.configuration import Configuration
from tessera.costs.load import Load, compute_stored_log_gib
from tessera.costs.recovery_lines import list_idle_recovery_lines

#: Of Lambda's event sources: five long polls of 20 s each, always (AWS's documentation of Lambda with SQS).
_POLLS_A_MINUTE_OF_A_FUNCTION = 5 * 3
_POLLS_A_MINUTE_OF_KEDA = 60 / POLLING_SECONDS
_SCRAPES_A_MINUTE = 2  #: cdk/observability/scrape.yaml
_SECONDS_OF_A_SWEEP, _GIB_OF_A_SWEEP = 1.0, 0.5  #: the first is an assumption
_POLL_GIB = 5  #: through NAT, with metrics and signs of life. An assumption
_MINUTES_A_MONTH = HOURS_A_MONTH * 60


def list_idle_lines(configuration: Configuration, load: Load) -> Iterator[BillLine]:
    """Yield the lines. Of `load`, those numbers count that are not about slides."""
    yield from _list_cluster(configuration)
    yield from _list_network(configuration, load)
    yield from _list_database(configuration)
    yield from _list_protection()
    yield from _list_polls()
    if configuration.has_image_builds:
        minutes = load.image_builds_a_month * load.image_build_minutes
        yield BillLine("CodeBuild", "builds of the worker's image", minutes, "CodeBuild general1.medium")
    yield from _list_watching(configuration, load)
    yield from list_idle_recovery_lines(configuration)


def _list_cluster(configuration: Configuration) -> Iterator[BillLine]:
    nodes = installed.SYSTEM_NODES
    warm_hours = configuration.warm_nodes * installed.WARM_HOURS_A_MONTH
    warm_disks = installed.GPU_DISK_GB * warm_hours / HOURS_A_MONTH
    yield BillLine("EKS", "cluster", HOURS_A_MONTH, "EKS cluster")
    yield BillLine("EC2", f"{nodes} system nodes", nodes * HOURS_A_MONTH, "EC2 r7i.large")
    yield BillLine("EC2", "warm GPU nodes, spot", warm_hours, "EC2 g6.2xlarge spot")
    yield BillLine("EBS", f"disks of {nodes} system nodes", nodes * installed.SYSTEM_DISK_GB, "EBS gp3")
    yield BillLine("EBS", "disks of warm GPU nodes", warm_disks, "EBS gp3")


def _list_network(configuration: Configuration, load: Load) -> Iterator[BillLine]:
    hours = configuration.nat_gateways * HOURS_A_MONTH
    yield BillLine("VPC", f"{configuration.nat_gateways} NAT gateways", hours, "NAT gateway")
    yield BillLine("VPC", "their addresses", hours, "public IPv4 address")
    yield BillLine("VPC", "logs and polls through NAT", load.idle_log_gib_a_month + _POLL_GIB, "NAT traffic")


def _list_database(configuration: Configuration) -> Iterator[BillLine]:
    count, kind = configuration.databases, configuration.database_instance_type
    yield BillLine("RDS", f"{count} × {kind}", count * HOURS_A_MONTH, f"RDS {kind}")
    yield BillLine("RDS", "disks", count * installed.DATABASE_DISK_GB, "RDS storage gp3")
    yield BillLine("RDS", "proxy", installed.PROXY_PROCESSORS * HOURS_A_MONTH, "RDS Proxy")


def _list_protection() -> Iterator[BillLine]:
    yield BillLine("KMS", f"{installed.KEYS} keys", installed.KEYS, "KMS key")
    yield BillLine("Secrets Manager", "the owner's password", installed.SECRETS, "Secrets Manager secret")
    yield BillLine("WAF", "access list", 1, "WAF ACL")
    yield BillLine("WAF", f"{installed.FIREWALL_RULES} rules", installed.FIREWALL_RULES, "WAF rule")


def _list_polls() -> Iterator[BillLine]:
    runs = installed.FUNCTIONS_A_MINUTE * _MINUTES_A_MONTH
    of_functions = installed.QUEUES_OF_FUNCTIONS * _POLLS_A_MINUTE_OF_A_FUNCTION
    of_pods = installed.QUEUES_OF_PODS * _POLLS_A_MINUTE_OF_KEDA
    polls = (of_functions + of_pods) * _MINUTES_A_MONTH
    yield BillLine("Lambda", "sweep and relay", runs * _SECONDS_OF_A_SWEEP * _GIB_OF_A_SWEEP / 1e6, "Lambda arm64")
    yield BillLine("Lambda", "their requests", runs / 1e6, "Lambda request")
    yield BillLine("SQS", "polls of empty queues", polls / 1e6, "SQS request")


def _list_watching(configuration: Configuration, load: Load) -> Iterator[BillLine]:
    alarms = installed.ALARM_METRICS_WITHOUT_NAT + installed.ALARM_METRICS_A_NAT * configuration.nat_gateways
    log_gib = load.idle_log_gib_a_month
    stored_gib = compute_stored_log_gib(log_gib, configuration.log_days)
    samples = load.prometheus_series * _SCRAPES_A_MINUTE * _MINUTES_A_MONTH / 1e6
    yield BillLine("CloudWatch", "alarms, by metric", alarms, "CloudWatch alarm")
    yield BillLine("CloudWatch", "composite alarms", installed.COMPOSITE_ALARMS, "CloudWatch composite alarm")
    yield BillLine("CloudWatch", "own metrics", installed.CUSTOM_METRICS, "CloudWatch metric")
    yield BillLine("CloudWatch", "dashboards", installed.DASHBOARDS, "CloudWatch dashboard")
    yield BillLine("CloudWatch", "logs without slides", log_gib, "CloudWatch logs, ingestion")
    yield BillLine("CloudWatch", "logs without slides, stored", stored_gib, "CloudWatch logs, storage")
    yield BillLine("Prometheus", "collector", HOURS_A_MONTH, "Prometheus collector")
    yield BillLine("Prometheus", "samples collected", samples, "Prometheus sample, collected")
    yield BillLine("Prometheus", "samples ingested", samples, "Prometheus sample, ingested")
