"""The quotas that a deployment needs: a new account has none for GPUs, and often ten concurrent functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from cdk.cluster.node_groups import SYSTEM_INSTANCE_TYPES
from cdk.deployment import CODEBUILD
from cdk.scale_report import count_fallback_workers
from tools.account.account import Account, CheckResult


@dataclass(frozen=True, slots=True)
class QuotaNeed:
    service: str
    code: str
    unit: str
    count_needed: Callable[[Account], int]
    count_used: Callable[[Account], int]


def check_quotas(account: Account) -> Iterator[CheckResult]:
    """Compare each quota with what the deployment adds to what the account uses already."""
    is_deployed = _has_network(account)
    builds = (BUILDS,) if account.deployment.worker_image == CODEBUILD else ()
    for need in (*NEEDS, *builds):
        quota = _get_quota(account, need)
        needed = need.count_needed(account)
        used = 0 if is_deployed else need.count_used(account)
        yield CheckResult(
            f"quota {quota['QuotaName']}",
            quota["Value"] >= needed + used,
            f"{quota['Value']:.0f} {need.unit}, {needed} needed" + (f" next to {used} in use" if used else ""),
            f"Request {needed + used}: aws service-quotas request-service-quota-increase --region"
            f" {account.deployment.region} --service-code {need.service} --quota-code {need.code}"
            f" --desired-value {needed + used}",
        )


def check_concurrency(account: Account) -> Iterator[CheckResult]:
    """Compare the unreserved concurrent executions of Lambda with the need."""
    limits = account.clients.get_client("lambda").get_account_settings()["AccountLimit"]
    free, needed = limits["UnreservedConcurrentExecutions"], account.deployment.scale.lambda_concurrency
    asked = max(1_000, needed)
    yield CheckResult(
        "quota Lambda concurrent executions",
        free >= needed,
        f"{free} not reserved, {needed} needed",
        f"Request {asked}: aws service-quotas request-service-quota-increase --region {account.deployment.region}"
        f" --service-code lambda --quota-code L-B99A9384 --desired-value {asked}",
    )


def _get_quota(account: Account, need: QuotaNeed) -> dict[str, Any]:
    """Return the account's own value, or the default: AWS knows no value of its own for a quota that nobody raised."""
    quotas = account.clients.get_client("service-quotas")
    try:
        return quotas.get_service_quota(ServiceCode=need.service, QuotaCode=need.code)["Quota"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchResourceException":
            raise
    return quotas.get_aws_default_service_quota(ServiceCode=need.service, QuotaCode=need.code)["Quota"]


def _has_network(account: Account) -> bool:
    """Return whether the VPC is this deployment's already, so that what is in use is its own."""
    found = account.clients.get_client("ec2").describe_vpcs(
        Filters=[{"Name": "tag:aws:cloudformation:stack-name", "Values": [f"{account.deployment.prefix}-network"]}]
    )
    return bool(found["Vpcs"])


def _count_processors(account: Account, instance_types: tuple[str, ...]) -> int:
    """Return the vCPUs of the largest of the types."""
    described = account.clients.get_client("ec2").describe_instance_types(InstanceTypes=list(instance_types))
    return max(one["VCpuInfo"]["DefaultVCpus"] for one in described["InstanceTypes"])


def _count_spot(account: Account) -> int:
    d = account.deployment
    return d.max_gpu_workers * _count_processors(account, d.gpu_instance_types)


def _count_on_demand(account: Account) -> int:
    d = account.deployment
    return count_fallback_workers(d, d.max_gpu_workers) * _count_processors(account, d.gpu_instance_types)


def _count_system(account: Account) -> int:
    return account.deployment.scale.system_nodes * _count_processors(account, SYSTEM_INSTANCE_TYPES)


def _count_nat_gateways(account: Account) -> int:
    """Return the NAT gateways of the fullest zone."""
    ec2 = account.clients.get_client("ec2")
    live = [one for one in ec2.describe_nat_gateways()["NatGateways"] if one["State"] in {"pending", "available"}]
    if not live:
        return 0
    subnets = ec2.describe_subnets(SubnetIds=sorted({one["SubnetId"] for one in live}))["Subnets"]
    zones = {one["SubnetId"]: one["AvailabilityZone"] for one in subnets}
    return max(Counter(zones[one["SubnetId"]] for one in live).values())


def _count_none(_: Account) -> int:
    return 0


#: Codes as Service Quotas lists them; the report prints the name that AWS gives a code. Running instances are not
#: counted: what a deployment needs is the most that it may ever run.
NEEDS = (
    QuotaNeed("ec2", "L-3819A6DF", "vCPUs", _count_spot, _count_none),
    QuotaNeed("ec2", "L-DB2E81BA", "vCPUs", _count_on_demand, _count_none),
    QuotaNeed("ec2", "L-1216C47A", "vCPUs", _count_system, _count_none),
    QuotaNeed(
        "vpc",
        "L-F678F1CE",
        "VPCs",
        lambda account: 1,
        lambda account: len(account.clients.get_client("ec2").describe_vpcs()["Vpcs"]),
    ),
    QuotaNeed("vpc", "L-FE5A380F", "a zone", lambda account: 1, _count_nat_gateways),
    QuotaNeed(
        "ec2",
        "L-0263D0A3",
        "addresses",
        lambda account: account.deployment.nat_gateway_count,
        lambda account: len(account.clients.get_client("ec2").describe_addresses()["Addresses"]),
    ),
)
#: New accounts may have none, and cannot start a build then.
BUILDS = QuotaNeed("codebuild", "L-2DC20C30", "builds", lambda account: 1, _count_none)
