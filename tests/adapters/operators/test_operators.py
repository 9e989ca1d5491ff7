"""The proof of who invokes a function: what STS vouches for, and every other text that is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from adapters.aws_clients import AwsClients
from adapters.operators import HEADER, PROOF, TokenService, make_proof, read_operator
from adapters.postgres.owner.administration import Administration
from lambdas.administer import make_handler
from local.postgres import OWNER
from tests.adapters.operators.token_service import ACCOUNT, ADA, ARN, REGION, TokenServer, serve_tokens
from tests.postgres import Database
from wsi.errors import Forbidden, SourceUnavailable

ACTION: dict[str, Any] = {"add_tenant": {"name": "hospital"}}
FUNCTION = "tessera-dev-administer"


@pytest.fixture
def server() -> Iterator[TokenServer]:
    with serve_tokens() as served:
        yield served


def service_of(server: TokenServer) -> TokenService:
    return TokenService(region=REGION, endpoint_url=server.url)


def prove(server: TokenServer, *, credentials: Credentials = ADA, action: dict[str, Any] = ACTION) -> str:
    return make_proof(action, function=FUNCTION, service=service_of(server), credentials=credentials)


def read(server: TokenServer, proof: object, **other: Any) -> str:
    asked: dict[str, Any] = {"action": ACTION, "function": FUNCTION, "account": ACCOUNT, "now": datetime.now(UTC)}
    asked |= other
    return read_operator(asked.pop("action"), proof, service=service_of(server), **asked)


def test_the_holder_of_credentials_is_known_by_their_arn(server: TokenServer) -> None:
    assert read(server, prove(server)) == ARN
    assert read(server, prove(server), action={**ACTION, PROOF: "the event as it comes"}) == ARN


@pytest.mark.parametrize(
    "other",
    [
        {"action": {"add_tenant": {"name": "another"}}},
        {"function": "another-function"},
        {"account": "999999999999"},
        {"later": timedelta(minutes=10)},
        {"later": timedelta(minutes=-10)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_proof_is_for_one_action_one_function_one_account_and_a_short_time(
    server: TokenServer, other: dict[str, Any]
) -> None:
    if "later" in other:
        other = {"now": datetime.now(UTC) + other["later"]}
    with pytest.raises(Forbidden):
        read(server, prove(server), **other)


def test_credentials_that_sts_does_not_know_are_refused(server: TokenServer) -> None:
    with pytest.raises(Forbidden):
        read(server, prove(server, credentials=Credentials("AKIDADA", "guess")))


def forge(server: TokenServer, change: str) -> str:
    good = prove(server)
    signature = good.rpartition("=")[2]
    return {
        "another host": good.replace(server.url, "http://127.0.0.1:9"),
        "another host in the user's part": good.replace("http://", "http://127.0.0.1:9@"),
        "another scheme": good.replace("http://", "file://"),
        "another path": good.replace("/?", "/admin?"),
        "another action": good.replace("GetCallerIdentity", "AssumeRole"),
        "a second action": good + "&Action=AssumeRole",
        "a parameter more": good + "&RoleArn=x",
        "a long life": good.replace("X-Amz-Expires=60", "X-Amz-Expires=604800"),
        "a header less": good.replace("host%3Bx-tessera-action", "host"),
        "another signature": good.replace(signature, "0" * 64),
        "no date": good.replace("X-Amz-Date", "X-Amz-When"),
        "an empty text": "",
        "a line break": good + "\r\nHost: evil",
        "no address": "hello",
    }[change]


FORGED = (
    *("another host", "another host in the user's part", "another scheme", "another path", "another action"),
    *("a second action", "a parameter more", "a long life", "a header less", "another signature", "no date"),
    *("an empty text", "a line break", "no address"),
)


@pytest.mark.parametrize("change", FORGED)
def test_a_text_that_is_no_proof_is_refused_and_leads_nowhere(server: TokenServer, change: str) -> None:
    with pytest.raises(Forbidden):
        read(server, forge(server, change))
    assert len(server.asked) == (change == "another signature")


@pytest.mark.parametrize("proof", [None, 5, {"url": "x"}, "x" * 10_000])
def test_no_proof_is_refused(server: TokenServer, proof: object) -> None:
    with pytest.raises(Forbidden):
        read(server, proof)


def test_a_redirect_of_sts_is_not_followed(server: TokenServer) -> None:
    server.status = 302
    with pytest.raises(Forbidden):
        read(server, prove(server))
    assert len(server.asked) == 1


def test_an_sts_that_does_not_answer_is_no_verdict(server: TokenServer) -> None:
    server.status = 503
    with pytest.raises(SourceUnavailable):
        read(server, prove(server))


def test_a_proof_whose_header_is_not_signed_is_refused(server: TokenServer) -> None:
    request = AWSRequest("GET", f"{server.url}/?Action=GetCallerIdentity&Version=2011-06-15")
    SigV4QueryAuth(ADA, "sts", REGION, expires=60).add_auth(request)
    assert HEADER not in str(request.url)
    with pytest.raises(Forbidden):
        read(server, request.url)


def test_an_emulators_sts_vouches_too(clients: AwsClients) -> None:
    service = TokenService(region=clients.region, endpoint_url=clients.endpoint_url)
    proof = make_proof(ACTION, function=FUNCTION, service=service, credentials=clients.get_credentials())
    now = datetime.now(UTC)
    arn = read_operator(ACTION, proof, function=FUNCTION, account="0" * 12, service=service, now=now)
    assert arn.startswith("arn:aws:")


def test_the_audit_log_names_who_invoked_administration(server: TokenServer, database: Database) -> None:
    def identify(event: dict[str, Any], context: Any) -> str:
        return read(server, event.get(PROOF), action=event)

    owner = Administration(lambda: database.server.make_dsn(OWNER, database.name))
    handle = make_handler(owner, identify)
    context = SimpleNamespace(aws_request_id="request-1")
    assert "error" in handle(ACTION, context)
    assert handle({**ACTION, PROOF: prove(server)}, context).keys() == {"tenant"}
    quotas = {"set_quotas": {"jobs_waiting": 5}}
    handle({**quotas, PROOF: prove(server, action=quotas)}, context)
    for asked, action in (({"tenant": "hospital"}, "tenant.add"), ({}, "quotas.set")):
        listing = {"list_audit": asked}
        (line,) = handle({**listing, PROOF: prove(server, action=listing)}, context)["items"]
        assert (line["actor"], line["action"], line["detail"]["request"]) == (ARN, action, "request-1")
        verifying = {"verify_audit": asked}
        report = handle({**verifying, PROOF: prove(server, action=verifying)}, context)
        assert (report["lines"], report["is_whole"], report["faults"]) == (2, True, [])
