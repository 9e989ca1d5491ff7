"""`scripts/destroy.sh` between its stacks: empties buckets that must go, and removes log groups that came back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from adapters.aws_clients import AwsClients
from cdk.deployment import WrongDeployment
from tools.account.account import Account, find_stack_status, get_clients_of
from tools.account.context import read_deployment
from tools.account.names import list_leftover_log_groups


class StillProtected(Exception):
    """The database is protected from deletion, so its stack cannot go."""


class NotDeleted(Exception):
    """S3 kept an object that must go before its bucket."""


def delete_page(account: Account) -> Iterator[str]:
    """Delete all versions in the bucket of the page, which each deployment fills."""
    return _empty_buckets(account, "web")


def delete_data(account: Account) -> Iterator[str]:
    """Stop the audit trail, and delete all versions in the buckets of the data stack.

    With keeps_data they stay as they are. Raises StillProtected.
    """
    if account.deployment.keeps_data:
        _require_unprotected(account)
        return
    name = f"{account.deployment.prefix}-audit"
    try:  # it writes every few minutes, into a bucket that must be empty
        account.clients.get_client("cloudtrail").stop_logging(Name=name)
        yield f"stopped the trail {name}"
    except ClientError as error:
        if error.response["Error"]["Code"] != "TrailNotFoundException":
            raise
    yield from _empty_buckets(account, "data")


def delete_replicas(account: Account) -> Iterator[str]:
    """Delete all versions in the buckets of the second region, once nothing is copied into them any more. With
    keeps_data they stay as they are."""
    if account.recovery is not None and not account.deployment.keeps_data:
        yield from _empty_buckets(account, "recovery")


def delete_leftovers(account: Account) -> Iterator[str]:
    """Delete the log groups that AWS created again after their stack was gone."""
    for name in list_leftover_log_groups(account):
        account.clients.get_client("logs").delete_log_group(logGroupName=name)
        yield f"deleted the log group {name}"


STEPS: Mapping[str, Callable[[Account], Iterator[str]]] = MappingProxyType(
    {"page": delete_page, "data": delete_data, "recovery": delete_replicas, "leftovers": delete_leftovers}
)


def _empty_buckets(account: Account, noun: str) -> Iterator[str]:
    """Delete all versions of all objects in the buckets of a stack. A stack whose creation failed has buckets too."""
    if find_stack_status(account, noun) is None:
        return
    clients = get_clients_of(account, noun)
    pages = clients.get_client("cloudformation").get_paginator("list_stack_resources")
    s3 = clients.get_client("s3")
    for page in pages.paginate(StackName=f"{account.deployment.prefix}-{noun}"):
        for resource in page["StackResourceSummaries"]:
            is_gone = resource["ResourceStatus"] == "DELETE_COMPLETE" or not resource.get("PhysicalResourceId")
            if resource["ResourceType"] == "AWS::S3::Bucket" and not is_gone:
                yield f"emptied {resource['PhysicalResourceId']}: {_empty_bucket(s3, resource['PhysicalResourceId'])}"


def _empty_bucket(s3: Any, bucket: str) -> str:
    count = 0
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        found = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
        if not found:
            continue
        keys = [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in found]
        answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": keys, "Quiet": True})
        if answer.get("Errors"):
            first = answer["Errors"][0]
            raise NotDeleted(f"{bucket}/{first['Key']} was not deleted: {first['Message']}")
        count += len(keys)
    return f"{count} versions"


def _require_unprotected(account: Account) -> None:
    if find_stack_status(account, "data") is None:
        return
    name = f"{account.deployment.prefix}-database"
    try:
        [found] = account.clients.get_client("rds").describe_db_instances(DBInstanceIdentifier=name)["DBInstances"]
    except ClientError as error:
        if error.response["Error"]["Code"] in {"DBInstanceNotFound", "DBInstanceNotFoundFault"}:
            return
        raise
    if found["DeletionProtection"]:
        raise StillProtected(
            f"The database {name} is protected, so data and network stay. To delete them, run: aws rds"
            f" modify-db-instance --db-instance-identifier {name} --no-deletion-protection --apply-immediately"
            f" --region {account.deployment.region}. Then run this again."
        )


def main(arguments: list[str]) -> int:
    step, *rest = arguments
    try:
        deployment = read_deployment(rest)
        clients = AwsClients(deployment.region)
        there = AwsClients(deployment.recovery_region) if deployment.recovery_region else None
        account = Account(deployment, clients, clients, there)
        for done in STEPS[step](account):
            sys.stdout.write(f"{done}\n")
            sys.stdout.flush()
    except WrongDeployment as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 2
    except (StillProtected, NotDeleted) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except ClientError as error:
        code = error.response["Error"]["Code"]
        sys.stderr.write(f"{error.operation_name} answered {code}: use credentials that may call it.\n")
        return 1
    except BotoCoreError as error:
        sys.stderr.write(f"AWS cannot be reached: {error} Sign in with the AWS command line and try again.\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
