from __future__ import annotations

import pytest

from tests.tools.account.fake_aws import AwsAnswers
from tests.tools.account.world import QUOTAS, failed, make_account, quota, results
from tools.account.account import Account
from tools.account.quotas import check_concurrency, check_quotas

SPOT, ON_DEMAND, SYSTEM, NAT, ADDRESSES = "L-3819A6DF", "L-DB2E81BA", "L-1216C47A", "L-FE5A380F", "L-0263D0A3"
VPCS = "L-F678F1CE"
BUILDS = "L-2DC20C30"


def test_an_account_with_large_quotas_passes(account: Account) -> None:
    assert failed(check_quotas, account) == []


@pytest.mark.parametrize(
    ("code", "enough"), [(SPOT, 40), (ON_DEMAND, 8), (SYSTEM, 10), (NAT, 1), (ADDRESSES, 1)], ids=QUOTAS.get
)
def test_a_quota_that_is_too_small_fails_and_says_what_to_request(
    account: Account, fake: AwsAnswers, code: str, enough: int
) -> None:
    fake.answers[f"GetServiceQuota/{code}"] = quota(code, enough)
    assert failed(check_quotas, account) == []
    fake.answers[f"GetServiceQuota/{code}"] = quota(code, enough - 1)
    [result] = [one for one in check_quotas(account) if not one.is_met]
    assert QUOTAS[code] in result.name
    assert f"--quota-code {code} --desired-value {enough}" in result.remedy


def test_codebuild_needs_a_build_where_it_builds_the_image(account: Account, fake: AwsAnswers) -> None:
    fake.answers[f"GetServiceQuota/{BUILDS}"] = quota(BUILDS, 0)
    assert failed(check_quotas, account) == []
    by_codebuild = make_account(fake, worker_image="codebuild")
    [result] = [one for one in check_quotas(by_codebuild) if not one.is_met]
    assert (result.name, result.found) == (f"quota {QUOTAS[BUILDS]}", "0 builds, 1 needed")
    assert "--service-code codebuild --quota-code L-2DC20C30 --desired-value 1" in result.remedy
    fake.answers[f"GetServiceQuota/{BUILDS}"] = quota(BUILDS, 1)
    assert failed(check_quotas, by_codebuild) == []


def test_a_quota_that_nobody_raised_has_its_default(account: Account, fake: AwsAnswers) -> None:
    fake.answers[f"GetServiceQuota/{SPOT}"] = (400, "NoSuchResourceException")
    fake.answers[f"GetAWSDefaultServiceQuota/{SPOT}"] = quota(SPOT, 0)
    [result] = [one for one in check_quotas(account) if not one.is_met]
    assert result.found == "0 vCPUs, 40 needed"


def test_production_needs_more(fake: AwsAnswers, account: Account) -> None:
    fake.answers[f"GetServiceQuota/{SPOT}"] = quota(SPOT, 191)
    assert failed(check_quotas, make_account(fake, environment="prod")) == [f"quota {QUOTAS[SPOT]}"]


def test_what_the_account_uses_is_not_free(account: Account, fake: AwsAnswers) -> None:
    ec2 = account.clients.get_client("ec2")
    ec2.allocate_address(Domain="vpc")
    fake.answers[f"GetServiceQuota/{ADDRESSES}"] = quota(ADDRESSES, 1)
    [result] = [one for one in check_quotas(account) if not one.is_met]
    assert (result.found, "--desired-value 2" in result.remedy) == ("1 addresses, 1 needed next to 1 in use", True)


def test_NAT_gateways_count_in_the_fullest_zone(account: Account, fake: AwsAnswers) -> None:
    ec2 = account.clients.get_client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    for number, zone in enumerate("aab"):
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=f"eu-central-1{zone}")
        address = ec2.allocate_address(Domain="vpc")["AllocationId"]
        ec2.create_nat_gateway(SubnetId=subnet["Subnet"]["SubnetId"], AllocationId=address)
    fake.answers[f"GetServiceQuota/{NAT}"] = quota(NAT, 2)
    assert failed(check_quotas, account) == [f"quota {QUOTAS[NAT]}"]
    fake.answers[f"GetServiceQuota/{NAT}"] = quota(NAT, 3)
    assert failed(check_quotas, account) == []


def test_an_upgrade_does_not_count_its_own_network_twice(account: Account, fake: AwsAnswers) -> None:
    ec2 = account.clients.get_client("ec2")
    there = len(ec2.describe_vpcs()["Vpcs"])
    fake.answers[f"GetServiceQuota/{VPCS}"] = quota(VPCS, there + 1)
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    assert failed(check_quotas, account) == [f"quota {QUOTAS[VPCS]}"]
    tag = {"Key": "aws:cloudformation:stack-name", "Value": "tessera-dev-network"}
    ec2.create_tags(Resources=[vpc], Tags=[tag])
    assert failed(check_quotas, account) == []


def test_a_new_accounts_ten_concurrent_functions_are_too_few(account: Account, fake: AwsAnswers) -> None:
    assert failed(check_concurrency, account) == []
    fake.answers["GetAccountSettings"] = {"AccountLimit": {"UnreservedConcurrentExecutions": 10}}
    [result] = results(check_concurrency, account).values()
    assert (result.is_met, "L-B99A9384" in result.remedy) == (False, True)
