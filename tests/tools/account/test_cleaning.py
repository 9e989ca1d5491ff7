from __future__ import annotations

from typing import Any

import pytest

from tests.tools.account.fake_aws import AwsAnswers, xml
from tests.tools.account.world import make_account, stack, stack_resources
from tools.account.account import Account
from tools.account.cleaning import StillProtected, delete_data, delete_leftovers, delete_page
from tools.account.names import check_leftovers

DATA, WEB = "tessera-dev-data", "tessera-dev-web"
EKS = "/aws/eks/tessera-dev/cluster"


def make_bucket(account: Account, name: str) -> Any:
    """A versioned bucket with an overwritten object and a deleted one."""
    s3 = account.clients.get_client("s3")
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    for key in ("a", "a", "b"):
        s3.put_object(Bucket=name, Key=key, Body=b"x")
    s3.delete_object(Bucket=name, Key="b")
    return s3


def make_stack(fake: AwsAnswers, name: str, *buckets: str, status: str = "CREATE_COMPLETE") -> None:
    fake.answers[f"DescribeStacks/{name}"] = stack(status)
    rows = [("AWS::S3::Bucket", bucket, "CREATE_COMPLETE") for bucket in buckets]
    fake.answers[f"ListStackResources/{name}"] = stack_resources(*rows, ("AWS::SQS::Queue", "q", "CREATE_COMPLETE"))


def protection(is_on: bool) -> str:
    instance = f"<DBInstance><DeletionProtection>{str(is_on).lower()}</DeletionProtection></DBInstance>"
    return xml("DescribeDBInstances", f"<DBInstances>{instance}</DBInstances>")


def holds_objects(s3: Any, bucket: str) -> bool:
    found = s3.list_object_versions(Bucket=bucket)
    return bool(found.get("Versions") or found.get("DeleteMarkers"))


@pytest.mark.parametrize("status", ["CREATE_COMPLETE", "ROLLBACK_FAILED"])
def test_all_versions_of_a_stacks_buckets_go(account: Account, fake: AwsAnswers, status: str) -> None:
    s3 = make_bucket(account, "slides")
    make_bucket(account, "of-somebody-else")
    make_stack(fake, DATA, "slides", status=status)
    assert list(delete_data(account)) == ["emptied slides: 4 versions"]
    assert not holds_objects(s3, "slides")
    assert holds_objects(s3, "of-somebody-else")
    s3.delete_bucket(Bucket="slides")  # as CloudFormation then does


def test_the_page_of_production_goes_too(fake: AwsAnswers, account: Account) -> None:
    s3 = make_bucket(account, "page")
    make_stack(fake, "tessera-prod-web", "page")
    assert list(delete_page(make_account(fake, environment="prod"))) == ["emptied page: 4 versions"]
    assert not holds_objects(s3, "page")


def test_a_bucket_that_is_deleted_already_is_left_out(account: Account, fake: AwsAnswers) -> None:
    fake.answers[f"DescribeStacks/{WEB}"] = stack("DELETE_FAILED")
    fake.answers[f"ListStackResources/{WEB}"] = stack_resources(("AWS::S3::Bucket", "gone", "DELETE_COMPLETE"))
    assert list(delete_page(account)) == []


def test_without_a_stack_nothing_is_emptied(account: Account) -> None:
    assert [*delete_page(account), *delete_data(account)] == []


def test_the_trail_stops_before_its_bucket_is_emptied(account: Account, fake: AwsAnswers) -> None:
    make_bucket(account, "audit")
    make_stack(fake, DATA, "audit")
    s3 = account.clients.get_client("s3")
    s3.create_bucket(Bucket="trail", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    trail = account.clients.get_client("cloudtrail")
    trail.create_trail(Name="tessera-dev-audit", S3BucketName="trail")
    trail.start_logging(Name="tessera-dev-audit")
    assert list(delete_data(account)) == ["stopped the trail tessera-dev-audit", "emptied audit: 4 versions"]
    assert trail.get_trail_status(Name="tessera-dev-audit")["IsLogging"] is False


def test_production_keeps_its_objects_and_a_protected_database_stops_the_script(
    account: Account, fake: AwsAnswers
) -> None:
    s3 = make_bucket(account, "slides")
    make_stack(fake, "tessera-prod-data", "slides")
    prod = make_account(fake, environment="prod")
    fake.answers["DescribeDBInstances"] = protection(True)
    with pytest.raises(StillProtected, match="--no-deletion-protection"):
        list(delete_data(prod))
    fake.answers["DescribeDBInstances"] = protection(False)
    assert list(delete_data(prod)) == []
    assert holds_objects(s3, "slides")


def test_a_second_deployment_finds_no_log_group_of_the_first(account: Account, fake: AwsAnswers) -> None:
    """Deploy, destroy, AWS writes once more, clean, deploy."""
    logs = account.clients.get_client("logs")
    logs.create_log_group(logGroupName=EKS)  # by the cluster stack
    fake.answers["DescribeStacks/tessera-dev-cluster"] = stack("CREATE_COMPLETE")
    assert list(delete_leftovers(account)) == []
    logs.delete_log_group(logGroupName=EKS)  # by CloudFormation
    del fake.answers["DescribeStacks/tessera-dev-cluster"]
    logs.create_log_group(logGroupName=EKS)  # by EKS, which had lines left
    assert [one.name for one in check_leftovers(account) if not one.is_met] == ["log groups"]
    assert list(delete_leftovers(account)) == [f"deleted the log group {EKS}"]
    assert [one.name for one in check_leftovers(account) if not one.is_met] == []
    logs.create_log_group(logGroupName=EKS)  # by the second deployment: it would raise if the name were taken
