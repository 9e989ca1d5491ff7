"""An account that has all that a deployment needs; tests take things away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from moto import mock_aws

from tests.tools.account.fake_aws import REGION, AwsAnswers, MixedClients, answering

if TYPE_CHECKING:
    from tools.account.account import Account


@pytest.fixture
def fake() -> Iterator[AwsAnswers]:
    # Imported here: jsii starts Node when it is imported, and without one pytest could not even read this file.
    from tests.tools.account.world import QUOTAS, orderable, postgres_versions, quota

    answers: dict[str, Any] = {f"GetServiceQuota/{code}": quota(code, 500) for code in QUOTAS}
    answers["GetAccountSettings"] = {"AccountLimit": {"UnreservedConcurrentExecutions": 1000}}
    answers["DescribeClusterVersions"] = {
        "clusterVersions": [{"clusterVersion": "1.36", "versionStatus": "STANDARD_SUPPORT"}]
    }
    answers["DescribeDBEngineVersions"] = postgres_versions("18.3", "18.4")
    answers["DescribeOrderableDBInstanceOptions"] = orderable("18.4", *(f"{REGION}{letter}" for letter in "abc"))
    answers["GetAccount"] = {"ProductionAccessEnabled": True}
    answers["GetEmailIdentity"] = (404, "NotFoundException")
    with answering(answers) as server:
        yield server


@pytest.fixture
def account(credentials: None, fake: AwsAnswers) -> Iterator[Account]:
    from tests.tools.account.world import make_account

    with mock_aws():
        clients = MixedClients(fake)
        clients.get_client("ssm").put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String")
        # moto names the role of spot instances otherwise than AWS does.
        clients.get_client("iam").create_role(RoleName="AWSServiceRoleForEC2Spot", AssumeRolePolicyDocument="{}")
        yield make_account(fake)
