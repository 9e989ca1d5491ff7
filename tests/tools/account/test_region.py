from __future__ import annotations

import pytest

from tests.tools.account.fake_aws import AwsAnswers
from tests.tools.account.world import failed, make_account, orderable, postgres_versions
from tools.account.account import Account
from tools.account.region import check_database, check_instance_types, check_kubernetes, check_zones

LARGE = {"environment": "lab", "preset": "dev", "region": "eu-central-1"}


def test_the_home_region_has_all(account: Account) -> None:
    for check in (check_zones, check_instance_types, check_kubernetes, check_database):
        assert failed(check, account) == []


def test_a_zone_that_the_account_lacks_fails(account: Account, fake: AwsAnswers) -> None:
    lacking = make_account(fake, **LARGE, availability_zones="eu-central-1a,eu-central-1f")
    [result] = [one for one in check_zones(lacking) if not one.is_met]
    assert result.found == "eu-central-1f missing"
    assert "eu-central-1a, eu-central-1b, eu-central-1c" in result.remedy


def test_a_zone_without_GPUs_fails(account: Account, fake: AwsAnswers) -> None:
    lacking = make_account(fake, **LARGE, availability_zones="eu-central-1a,eu-central-1f")
    assert failed(check_instance_types, lacking) == ["GPU instance types", "system instance types"]


def test_a_GPU_type_that_the_region_lacks_fails(account: Account, fake: AwsAnswers) -> None:
    paris = {"environment": "dev", "region": "eu-west-3", "availability_zones": "eu-west-3a,eu-west-3b"}
    [result] = [one for one in check_instance_types(make_account(fake, **paris)) if not one.is_met]
    assert (result.name, result.found) == ("each GPU type", "g6e.2xlarge offered in no zone")
    known = make_account(fake, **paris, gpu_instance_types="g4dn.2xlarge,g5.2xlarge,g6.2xlarge")
    assert failed(check_instance_types, known) == []


@pytest.mark.parametrize(
    "answer",
    [
        {"clusterVersions": []},
        {"clusterVersions": [{"clusterVersion": "1.36", "versionStatus": "EXTENDED_SUPPORT"}]},
        (400, "InvalidParameterException"),
    ],
)
def test_a_kubernetes_out_of_standard_support_fails(account: Account, fake: AwsAnswers, answer: object) -> None:
    fake.answers["DescribeClusterVersions"] = answer
    assert failed(check_kubernetes, account) == ["Kubernetes 1.36"]


def test_a_postgres_that_RDS_does_not_offer_fails(account: Account, fake: AwsAnswers) -> None:
    fake.answers["DescribeDBEngineVersions"] = postgres_versions()
    fake.answers["DescribeOrderableDBInstanceOptions"] = orderable("17.9", "eu-central-1a", "eu-central-1b")
    assert failed(check_database, account) == ["Postgres 18", "db.t4g.medium with Postgres 18"]


def test_a_standby_needs_a_second_zone(account: Account, fake: AwsAnswers) -> None:
    fake.answers["DescribeOrderableDBInstanceOptions"] = orderable("18.4", "eu-central-1a")
    assert failed(check_database, account) == []
    assert failed(check_database, make_account(fake, environment="prod")) == ["db.m7g.large with Postgres 18"]
