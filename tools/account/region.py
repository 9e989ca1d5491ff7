"""Checks of what the region offers: zones, instance types in each, the versions of Kubernetes and Postgres."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from botocore.exceptions import ClientError

from cdk.cluster.node_groups import SYSTEM_INSTANCE_TYPES
from cdk.versions import KUBERNETES, POSTGRES
from tools.account.account import Account, CheckResult


def check_zones(account: Account) -> Iterator[CheckResult]:
    """Compare the deployment's zones with those that the account has."""
    found = account.clients.get_client("ec2").describe_availability_zones(AllAvailabilityZones=False)
    usable = {one["ZoneName"] for one in found["AvailabilityZones"] if one["State"] == "available"}
    missing = sorted(set(account.deployment.zones) - usable)
    yield CheckResult(
        "zones",
        not missing,
        f"{', '.join(missing)} missing" if missing else ", ".join(account.deployment.zones),
        f"Set availability_zones to zones of this account: {', '.join(sorted(usable))}.",
    )


def check_instance_types(account: Account) -> Iterator[CheckResult]:
    """Check that each zone offers GPU nodes and system nodes, and that no GPU type is unknown to the region."""
    gpus = account.deployment.gpu_instance_types
    offered = _list_offers(account, (*gpus, *SYSTEM_INSTANCE_TYPES))
    for name, types in (("GPU instance types", gpus), ("system instance types", SYSTEM_INSTANCE_TYPES)):
        bare = [zone for zone in account.deployment.zones if not offered[zone] & set(types)]
        yield CheckResult(
            name,
            not bare,
            f"none in {', '.join(bare)}" if bare else f"every zone has one of {', '.join(types)}",
            "Set availability_zones to zones that have them"
            + (", or gpu_instance_types to types of these zones." if types is gpus else "."),
        )
    unknown = sorted(set(gpus) - set.union(*(offered[zone] for zone in account.deployment.zones)))
    yield CheckResult(
        "each GPU type",
        not unknown,
        f"{', '.join(unknown)} offered in no zone" if unknown else "offered in a zone",
        "Leave them out of gpu_instance_types: EKS refuses a node group with a type that the region lacks.",
    )


def check_kubernetes(account: Account) -> Iterator[CheckResult]:
    """Check that EKS offers the pinned version in standard support."""
    try:
        found = account.clients.get_client("eks").describe_cluster_versions(clusterVersions=[KUBERNETES.version])
        statuses = [one["versionStatus"] for one in found["clusterVersions"]]
    except ClientError as error:
        if error.response["Error"]["Code"] not in {"InvalidParameterException", "ResourceNotFoundException"}:
            raise
        statuses = []
    status = statuses[0] if statuses else "not offered"
    yield CheckResult(
        f"Kubernetes {KUBERNETES.version}",
        status == "STANDARD_SUPPORT",
        status.lower().replace("_", " "),
        "Upgrade the pin in cdk/versions.py together with the kubectl layer: extended support costs six times as much.",
    )


def check_database(account: Account) -> Iterator[CheckResult]:
    """Check that RDS offers the pinned major version of Postgres, and the instance type in two of the zones."""
    rds = account.clients.get_client("rds")
    versions = rds.describe_db_engine_versions(Engine="postgres", EngineVersion=POSTGRES.version)["DBEngineVersions"]
    yield CheckResult(
        f"Postgres {POSTGRES.version}",
        bool(versions),
        ", ".join(one["EngineVersion"] for one in versions) or "not offered",
        "Change the pin in cdk/versions.py to a major version that RDS offers here.",
    )
    name = f"db.{account.deployment.database_instance_type}"
    zones: set[str] = set()
    for page in rds.get_paginator("describe_orderable_db_instance_options").paginate(
        Engine="postgres", DBInstanceClass=name
    ):
        for option in page["OrderableDBInstanceOptions"]:
            if option["EngineVersion"].partition(".")[0] == POSTGRES.version:
                zones |= {zone["Name"] for zone in option["AvailabilityZones"]}
    usable = sorted(zones & set(account.deployment.zones))
    yield CheckResult(
        f"{name} with Postgres {POSTGRES.version}",
        len(usable) >= (2 if account.deployment.database_multi_az else 1),
        ", ".join(usable) or "in none of the zones",
        "Set database_instance_type to another of cdk/capacity.py.",
    )


def _list_offers(account: Account, types: tuple[str, ...]) -> defaultdict[str, set[str]]:
    """Return the types that each zone offers."""
    pages = account.clients.get_client("ec2").get_paginator("describe_instance_type_offerings")
    offered: defaultdict[str, set[str]] = defaultdict(set)
    for page in pages.paginate(
        LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": list(types)}]
    ):
        for one in page["InstanceTypeOfferings"]:
            offered[one["Location"]].add(one["InstanceType"])
    return offered
