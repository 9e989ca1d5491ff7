"""What `tessera admin cost` counts is what the stacks make. After a change of a stack, correct the number in
tessera/costs/configuration.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from adapters.settings import metrics
from adapters.settings.prices import DOLLARS_PER_GPU_HOUR
from adapters.settings.queues import SHARD_QUEUES
from cdk.capacity import get_instance_type
from cdk.cluster.node_groups import GPU_DISK, SYSTEM_DISK, SYSTEM_INSTANCE_TYPES, SYSTEM_NODES
from tessera.costs import configuration
from tessera.costs.configuration import PRESETS, Configuration, Preset
from tests.cdk.manifests import objects
from tests.cdk.templates import Templates
from wsi.states import JobState

ALARM = "AWS::CloudWatch::Alarm"


def priced(templates: Templates) -> Configuration:
    return PRESETS[Preset(templates.deployment.environment)]


def count(templates: Templates, type: str) -> int:
    return len(templates.resources(type))


def count_metrics(alarm: Mapping[str, Any]) -> int:
    """Return the number of metrics that an alarm is charged for: those of its formula, or its only one."""
    return sum("MetricStat" in metric for metric in alarm["Properties"].get("Metrics", ())) or 1


def test_presets_are_priced_as_they_are_deployed(templates: Templates) -> None:
    deployed = templates.deployment.model_copy(update={"nat_gateways": templates.deployment.nat_gateway_count})
    for field in fields(Configuration):
        assert getattr(priced(templates), field.name) == getattr(deployed, field.name), field.name
    assert templates.deployment.dollars_per_gpu_hour == DOLLARS_PER_GPU_HOUR


def test_gateways_and_databases_are_those_of_the_bill(templates: Templates) -> None:
    assert count(templates, "AWS::EC2::NatGateway") == priced(templates).nat_gateways
    [database] = templates.resources("AWS::RDS::DBInstance").values()
    assert database["Properties"]["DBInstanceClass"] == f"db.{priced(templates).database_instance_type}"
    assert database["Properties"]["MultiAZ"] == (priced(templates).databases == 2)
    assert int(database["Properties"]["AllocatedStorage"]) == configuration.DATABASE_DISK_GB
    assert database["Properties"]["StorageType"] == "gp3"
    assert database["Properties"]["ManageMasterUserPassword"] is True
    assert count(templates, "AWS::RDS::DBProxy") == 1
    processors = get_instance_type(priced(templates).database_instance_type).processors
    assert processors == configuration.PROXY_PROCESSORS


def test_nodes_and_their_disks_are_those_of_the_bill() -> None:
    assert SYSTEM_NODES == configuration.SYSTEM_NODES
    assert SYSTEM_INSTANCE_TYPES[0] == "r7i.large"
    assert (SYSTEM_DISK, GPU_DISK) == (configuration.SYSTEM_DISK_GB, configuration.GPU_DISK_GB)


def test_keys_secrets_and_rules_of_the_firewall_are_those_of_the_bill(templates: Templates) -> None:
    without_mail = templates.deployment.mail_from is None  # whose bounces have a key of their own
    assert count(templates, "AWS::KMS::Key") == configuration.KEYS - without_mail
    secrets = count(templates, "AWS::SecretsManager::Secret") + count(templates, "AWS::RDS::DBInstance")
    assert secrets == configuration.SECRETS
    [acl] = templates.resources("AWS::WAFv2::WebACL").values()
    assert len(acl["Properties"]["Rules"]) == configuration.FIREWALL_RULES


def test_alarms_and_dashboards_are_those_of_the_bill(templates: Templates) -> None:
    alarms = sum(map(count_metrics, templates.resources(ALARM).values()))
    of_nat = configuration.ALARM_METRICS_A_NAT * priced(templates).nat_gateways
    assert alarms - of_nat == configuration.ALARM_METRICS_WITHOUT_NAT
    assert count(templates, "AWS::CloudWatch::CompositeAlarm") == configuration.COMPOSITE_ALARMS
    assert count(templates, "AWS::CloudWatch::Dashboard") == configuration.DASHBOARDS


def test_own_metrics_are_those_of_the_bill(templates: Templates) -> None:
    of_the_sweep = {name for name in vars(metrics) if name.isupper()} - {"SERVICE"}
    filters = count(templates, "AWS::Logs::MetricFilter")
    lines = len(SHARD_QUEUES)
    assert len(JobState) + len(of_the_sweep) + lines + filters == configuration.CUSTOM_METRICS


def test_what_polls_without_work_is_that_of_the_bill(templates: Templates) -> None:
    assert count(templates, "AWS::Lambda::EventSourceMapping") == configuration.QUEUES_OF_FUNCTIONS
    triggers = [one for job in objects(templates) if job["kind"] == "ScaledJob" for one in job["spec"]["triggers"]]
    assert len(triggers) == configuration.QUEUES_OF_PODS
    schedules = [rule["Properties"]["ScheduleExpression"] for rule in templates.resources("AWS::Events::Rule").values()]
    assert schedules == ["rate(1 minute)"] * configuration.FUNCTIONS_A_MINUTE


def test_everything_else_that_costs_while_idle_is_there_once(templates: Templates) -> None:
    for type in ("AWS::EKS::Cluster", "AWS::APS::Scraper", "AWS::CloudFront::Distribution", "AWS::CloudTrail::Trail"):
        assert count(templates, type) == 1, type
    endpoints = [one["Properties"] for one in templates.resources("AWS::EC2::VPCEndpoint").values()]
    assert [one["VpcEndpointType"] for one in endpoints] == ["Gateway"]  # an interface would cost by the hour


def test_warm_hours_are_those_of_the_bill(prod: Templates) -> None:
    warm = prod.deployment.warm_hours
    assert (warm.start, warm.end) == ("0 7 * * 1-5", "0 19 * * 1-5")
    assert configuration.WARM_HOURS_A_MONTH == (19 - 7) * 22


def test_a_second_region_adds_what_the_bill_says(furnished: Templates) -> None:
    assert len(furnished.resources("AWS::KMS::Key", "recovery")) == configuration.RECOVERY_KEYS
    alarms = [one for id, one in furnished.resources(ALARM).items() if "eplication" in id]
    assert len(alarms) == configuration.RECOVERY_ALARM_METRICS
    assert {len(one["Properties"]["Metrics"]) for one in alarms} == {1}
