"""People's accounts in a Cognito user pool."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from botocore.stub import Stubber
from moto import mock_aws

from adapters.accounts import CognitoAccounts
from adapters.aws_clients import AwsClients
from wsi.errors import Invalid, SourceUnavailable

REGION = "eu-central-1"
ISSUER = "https://cognito-idp.eu-central-1.amazonaws.com/pool"
EMAIL = "ada@hospital.example"


@pytest.fixture
def aws(credentials) -> Iterator[AwsClients]:
    with mock_aws():
        yield AwsClients(REGION)


@pytest.fixture
def pool(aws: AwsClients) -> str:
    made = aws.cognito.create_user_pool(PoolName="tessera", UsernameAttributes=["email"])
    return made["UserPool"]["Id"]


def status(aws: AwsClients, pool: str) -> tuple[str, bool]:
    found = aws.cognito.admin_get_user(UserPoolId=pool, Username=EMAIL)
    return found["UserStatus"], found["Enabled"]


def test_an_invited_person_has_a_verified_address_and_a_password_to_replace(aws: AwsClients, pool: str) -> None:
    account = CognitoAccounts(aws, pool, ISSUER).invite(EMAIL)
    found = aws.cognito.admin_get_user(UserPoolId=pool, Username=EMAIL)
    attributes = {one["Name"]: one["Value"] for one in found["UserAttributes"]}
    assert (account.issuer, account.subject, account.password) == (ISSUER, attributes["sub"], None)
    assert attributes["email_verified"] == "true"
    assert status(aws, pool) == ("FORCE_CHANGE_PASSWORD", True)


def test_without_mails_a_new_account_gets_a_password_and_a_known_one_keeps_its_own(aws: AwsClients, pool: str) -> None:
    accounts = CognitoAccounts(aws, pool, ISSUER, mails=False)
    first = accounts.invite(EMAIL)
    assert first.password
    assert status(aws, pool) == ("CONFIRMED", True)
    again = accounts.invite(EMAIL)
    assert (again.subject, again.password) == (first.subject, None)


def test_a_disabled_account_is_enabled_again_by_name_or_by_an_invitation(aws: AwsClients, pool: str) -> None:
    accounts = CognitoAccounts(aws, pool, ISSUER, mails=False)
    subject = accounts.invite(EMAIL).subject
    for enable in (lambda: accounts.enable(subject), lambda: accounts.invite(EMAIL)):
        accounts.disable(subject)
        assert status(aws, pool) == ("CONFIRMED", False)
        enable()
        assert status(aws, pool) == ("CONFIRMED", True)


def test_an_account_that_the_pool_does_not_know_is_the_ledgers_matter_alone(aws: AwsClients, pool: str) -> None:
    CognitoAccounts(aws, pool, ISSUER).disable("0198a3c4-5d6e-7f80-9a1b-2c3d4e5f6071")


@pytest.mark.parametrize(
    ("code", "kind"), [("InvalidParameterException", Invalid), ("TooManyRequestsException", SourceUnavailable)]
)
def test_a_refusal_of_the_pool_is_told(aws: AwsClients, code: str, kind: type[Exception]) -> None:
    with Stubber(aws.cognito) as stub:
        stub.add_client_error("admin_create_user", code)
        with pytest.raises(kind):
            CognitoAccounts(aws, "pool", ISSUER).invite(EMAIL)


def test_a_mail_is_sent_again_unless_the_account_is_in_use(aws: AwsClients) -> None:
    found = {"Username": "u", "UserAttributes": [{"Name": "sub", "Value": "s"}], "Enabled": True}
    create = {"UserPoolId": "pool", "Username": EMAIL}
    for in_use in (False, True):
        with Stubber(aws.cognito) as stub:
            stub.add_client_error("admin_create_user", "UsernameExistsException")
            resend = {**create, "MessageAction": "RESEND"}
            if in_use:
                stub.add_client_error("admin_create_user", "UnsupportedUserStateException", expected_params=resend)
            else:
                stub.add_response("admin_create_user", {}, resend)
            stub.add_response("admin_get_user", found, create)
            assert CognitoAccounts(aws, "pool", ISSUER).invite(EMAIL).subject == "s"
            stub.assert_no_pending_responses()
