"""What the tests of an account share: answers of its services, and checks run on it."""

from __future__ import annotations

from typing import Any

from cdk.deployment import Deployment
from tests.tools.account.fake_aws import AwsAnswers, MixedClients, xml
from tools.account.account import Account, CheckResult
from tools.account.preflight import Check

QUOTAS = {
    "L-3819A6DF": "All G and VT Spot Instance Requests",
    "L-DB2E81BA": "Running On-Demand G and VT instances",
    "L-1216C47A": "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
    "L-F678F1CE": "VPCs per Region",
    "L-FE5A380F": "NAT gateways per Availability Zone",
    "L-0263D0A3": "EC2-VPC Elastic IPs",
    "L-2DC20C30": "Concurrently running builds for Linux/Medium environment",
}


def quota(code: str, value: float) -> dict[str, Any]:
    return {"Quota": {"QuotaCode": code, "QuotaName": QUOTAS[code], "Value": value}}


def postgres_versions(*versions: str) -> str:
    rows = "".join(f"<DBEngineVersion><EngineVersion>{one}</EngineVersion></DBEngineVersion>" for one in versions)
    return xml("DescribeDBEngineVersions", f"<DBEngineVersions>{rows}</DBEngineVersions>")


def orderable(version: str, *zones: str) -> str:
    rows = "".join(f"<AvailabilityZone><Name>{zone}</Name></AvailabilityZone>" for zone in zones)
    option = f"<EngineVersion>{version}</EngineVersion><AvailabilityZones>{rows}</AvailabilityZones>"
    return xml(
        "DescribeOrderableDBInstanceOptions",
        "<OrderableDBInstanceOptions>"
        f"<OrderableDBInstanceOption>{option}</OrderableDBInstanceOption></OrderableDBInstanceOptions>",
    )


def stack(status: str) -> str:
    member = f"<member><StackName>x</StackName><StackStatus>{status}</StackStatus></member>"
    return xml("DescribeStacks", f"<Stacks>{member}</Stacks>")


def stack_resources(*rows: tuple[str, str, str]) -> str:
    """Rows of (type, physical id, status)."""
    members = "".join(
        f"<member><ResourceType>{type}</ResourceType><PhysicalResourceId>{id}</PhysicalResourceId>"
        f"<ResourceStatus>{status}</ResourceStatus></member>"
        for type, id, status in rows
    )
    return xml("ListStackResources", f"<StackResourceSummaries>{members}</StackResourceSummaries>")


def results(check: Check, account: Account) -> dict[str, CheckResult]:
    return {result.name: result for result in check(account)}


def failed(check: Check, account: Account) -> list[str]:
    return [result.name for result in check(account) if not result.is_met]


def make_account(fake: AwsAnswers, **context: Any) -> Account:
    deployment = Deployment.from_context(context)
    return Account(deployment, MixedClients(fake, deployment.region), MixedClients(fake, "us-east-1"))
