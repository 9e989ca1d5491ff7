from __future__ import annotations

from typing import Any

import pytest

from tests.tools.account.world import failed, results
from tools.account.account import Account
from tools.account.prerequisites import BOOTSTRAP_VERSION, check_bootstrap, check_disk_key, check_roles

PARAMETER = "/cdk-bootstrap/hnb659fds/version"


def test_a_prepared_account_passes(account: Account) -> None:
    for check in (check_bootstrap, check_roles, check_disk_key):
        assert failed(check, account) == []


def test_a_region_without_bootstrap_fails(account: Account) -> None:
    account.clients.get_client("ssm").delete_parameter(Name=PARAMETER)
    [result] = results(check_bootstrap, account).values()
    assert (result.found, "cdk bootstrap" in result.remedy) == ("eu-central-1 has none", True)


@pytest.mark.parametrize(("version", "is_met"), [(BOOTSTRAP_VERSION - 1, False), (BOOTSTRAP_VERSION, True)])
def test_an_old_bootstrap_fails(account: Account, version: int, is_met: bool) -> None:
    account.clients.get_client("ssm").put_parameter(Name=PARAMETER, Value=str(version), Type="String", Overwrite=True)
    assert results(check_bootstrap, account)["CDK bootstrap"].is_met is is_met


def test_an_account_that_never_ran_spot_instances_fails(account: Account) -> None:
    account.clients.get_client("iam").delete_role(RoleName="AWSServiceRoleForEC2Spot")
    [result] = results(check_roles, account).values()
    assert (result.is_met, "spot.amazonaws.com" in result.remedy) == (False, True)


class _Ec2:
    """moto knows no default key of EBS."""

    def __init__(self, key: str) -> None:
        self._key = key

    def get_ebs_encryption_by_default(self) -> dict[str, Any]:
        return {"EbsEncryptionByDefault": True}

    def get_ebs_default_kms_key_id(self) -> dict[str, Any]:
        return {"KmsKeyId": self._key}


class _Clients:
    def __init__(self, key: str) -> None:
        self._key = key

    def get_client(self, service: str) -> Any:
        assert service == "ec2"
        return _Ec2(self._key)


@pytest.mark.parametrize(
    ("key", "is_met"), [("alias/aws/ebs", True), ("arn:aws:kms:eu-central-1:111122223333:key/x", False)]
)
def test_a_key_of_ones_own_for_disks_needs_a_grant(account: Account, key: str, is_met: bool) -> None:
    own = Account(account.deployment, _Clients(key), account.home)
    [result] = results(check_disk_key, own).values()
    assert (result.is_met, "create-grant" in result.remedy) == (is_met, True)
