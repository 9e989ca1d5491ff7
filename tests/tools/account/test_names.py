from __future__ import annotations

import pytest

from tests.tools.account.fake_aws import AwsAnswers
from tests.tools.account.world import failed, make_account, results, stack
from tools.account.account import Account
from tools.account.names import check_domain, check_leftovers, check_mail

EKS, POSTGRES = "/aws/eks/tessera-dev/cluster", "/aws/rds/instance/tessera-dev-database/postgresql"

ORIGIN = {"HTTPPort": 80, "HTTPSPort": 443, "OriginProtocolPolicy": "https-only"}


def make_group(account: Account, name: str) -> None:
    account.clients.get_client("logs").create_log_group(logGroupName=name)


def test_nothing_left_passes(account: Account) -> None:
    assert failed(check_leftovers, account) == []


@pytest.mark.parametrize("name", [EKS, POSTGRES])
def test_a_log_group_that_came_back_fails_and_names_the_cleaner(account: Account, name: str) -> None:
    make_group(account, name)
    result = results(check_leftovers, account)["log groups"]
    assert (result.is_met, result.found) == (False, f"{name} without a stack")
    assert result.remedy == "Run: scripts/destroy.sh dev --leftovers"


def test_a_log_group_of_a_living_stack_is_no_leftover(account: Account, fake: AwsAnswers) -> None:
    make_group(account, EKS)
    fake.answers["DescribeStacks/tessera-dev-cluster"] = stack("CREATE_COMPLETE")
    assert failed(check_leftovers, account) == []


def test_groups_of_another_environment_are_left_alone(account: Account) -> None:
    make_group(account, "/aws/eks/tessera-dev2/cluster")
    make_group(account, f"{EKS}-copy")
    assert failed(check_leftovers, account) == []


def test_a_stack_that_rolled_back_half_way_fails(account: Account, fake: AwsAnswers) -> None:
    fake.answers["DescribeStacks/tessera-dev-data"] = stack("ROLLBACK_FAILED")
    result = results(check_leftovers, account)["stacks"]
    assert (result.is_met, result.found) == (False, "cannot be updated: data (ROLLBACK_FAILED)")


def test_without_mails_and_domain_nothing_is_asked(account: Account) -> None:
    assert [*check_mail(account), *check_domain(account)] == []


def test_the_sandbox_of_SES_fails(account: Account, fake: AwsAnswers) -> None:
    mailing = make_account(fake, environment="dev", mail_from="mail.example.org")
    assert failed(check_mail, mailing) == []
    fake.answers["GetAccount"] = {"ProductionAccessEnabled": False}
    assert failed(check_mail, mailing) == ["SES"]


def test_an_identity_that_somebody_verified_by_hand_is_in_the_way(account: Account, fake: AwsAnswers) -> None:
    mailing = make_account(fake, environment="dev", mail_from="mail.example.org")
    fake.answers["GetEmailIdentity"] = {"IdentityType": "DOMAIN"}
    assert failed(check_mail, mailing) == ["SES identity mail.example.org"]
    fake.answers["DescribeStacks/tessera-dev-api"] = stack("UPDATE_COMPLETE")
    assert failed(check_mail, mailing) == []


def test_a_certificate_that_waits_for_its_record_fails(account: Account, fake: AwsAnswers) -> None:
    arn = "arn:aws:acm:us-east-1:111122223333:certificate/x"
    served = make_account(fake, environment="dev", domain="wsi.example.org", certificate_arn=arn)
    fake.answers["DescribeCertificate"] = {"Certificate": {"Status": "ISSUED"}}
    assert failed(check_domain, served) == []
    fake.answers["DescribeCertificate"] = {"Certificate": {"Status": "PENDING_VALIDATION"}}
    assert failed(check_domain, served) == ["certificate"]


def test_a_domain_that_another_distribution_serves_fails(account: Account, fake: AwsAnswers) -> None:
    arn = "arn:aws:acm:us-east-1:111122223333:certificate/x"
    served = make_account(fake, environment="dev", domain="wsi.example.org", certificate_arn=arn)
    fake.answers["DescribeCertificate"] = {"Certificate": {"Status": "ISSUED"}}
    origin = {"Id": "o", "DomainName": "example.org", "CustomOriginConfig": ORIGIN}
    account.home.get_client("cloudfront").create_distribution(
        DistributionConfig={
            "CallerReference": "1",
            "Comment": "",
            "Enabled": True,
            "Aliases": {"Quantity": 1, "Items": ["wsi.example.org"]},
            "Origins": {"Quantity": 1, "Items": [origin]},
            "DefaultCacheBehavior": {"TargetOriginId": "o", "ViewerProtocolPolicy": "allow-all"},
        }
    )
    assert failed(check_domain, served) == ["domain wsi.example.org"]
    fake.answers["DescribeStacks/tessera-dev-web"] = stack("CREATE_COMPLETE")
    assert failed(check_domain, served) == []
