"""The mutation is our own processes' alone: a signature opens it, a token does not."""

from __future__ import annotations

import json

import httpx
import pytest
from botocore.credentials import ReadOnlyCredentials

from adapters.appsync import END, MUTATION, SERVICE, AppSyncPublisher, make_variables
from adapters.aws_clients import AwsClients
from adapters.sigv4 import sign_post
from tests.local.appsync_server import CREDENTIALS, job_update
from tests.ministack import REGION
from wsi.errors import SourceUnavailable
from wsi.records.notices import EVERYBODY

BODY = json.dumps({"query": MUTATION, "variables": dict(make_variables(job_update()))}).encode()


def post(server, headers, body=BODY):
    return httpx.post(f"{server.url}/graphql", content=body, headers=headers)


def signed_headers(server, signer=CREDENTIALS, body=BODY):
    prepared = sign_post(f"{server.url}/graphql", body, signer, region=REGION, service=SERVICE)
    return {name: value for name, value in prepared.headers.items() if name.lower() != "content-length"}


def test_a_signed_mutation_answers_every_field(appsync):
    answer = post(appsync, signed_headers(appsync))
    assert answer.json() == {"data": {"publishJobUpdate": dict(make_variables(job_update()))}}


@pytest.mark.parametrize("token", ["tsk_ours_1", "tsk_theirs_2"])
def test_a_person_or_service_may_not_publish(appsync, token):
    (error,) = post(appsync, {"Authorization": token}).json()["errors"]
    assert error["errorType"] == "Unauthorized"
    assert error["message"] == "Not Authorized to access publishJobUpdate on type Mutation"


@pytest.mark.parametrize("token", ["tsk_ours_1", "tsk_theirs_2"])
def test_a_person_or_service_may_end_nobodys_subscriptions(appsync, token):
    body = json.dumps({"query": END, "variables": {"tenant": "tenant-a", "subject": EVERYBODY}}).encode()
    (error,) = post(appsync, {"Authorization": token}, body).json()["errors"]
    assert error["message"] == "Not Authorized to access endSubscriptions on type Mutation"
    answer = post(appsync, signed_headers(appsync, body=body), body)
    assert answer.json() == {"data": {"endSubscriptions": {"subject": EVERYBODY}}}


@pytest.mark.parametrize(
    "signer",
    [ReadOnlyCredentials("test", "guessed", None, None), ReadOnlyCredentials("other", "test", None, None)],
    ids=["wrong secret", "unknown key"],
)
def test_a_foreign_signature_is_refused(appsync, signer):
    answer = post(appsync, signed_headers(appsync, signer))
    assert answer.status_code == 401
    assert answer.json()["errors"][0]["errorType"] == "UnauthorizedException"


def test_a_signature_over_another_body_is_refused(appsync):
    other = json.dumps({"query": MUTATION, "variables": dict(make_variables(job_update("tenant-b")))}).encode()
    assert post(appsync, signed_headers(appsync), other).status_code == 401


@pytest.mark.parametrize("headers", [{}, {"Authorization": "tsk_unknown_9"}])
def test_nobody_is_refused(appsync, headers):
    assert post(appsync, headers).status_code == 401


def test_the_publisher_says_when_its_update_was_not_taken(appsync, monkeypatch):
    publisher = AppSyncPublisher(AwsClients(REGION), f"{appsync.url}/graphql")
    publisher.publish(job_update())
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "guessed")
    with pytest.raises(SourceUnavailable, match="401"):
        AppSyncPublisher(AwsClients(REGION), f"{appsync.url}/graphql").publish(job_update())
    with pytest.raises(SourceUnavailable, match="did not answer"):
        AppSyncPublisher(AwsClients(REGION), "http://127.0.0.1:9/graphql").publish(job_update())


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("{ readFromRest }", None),
        ("{ secrets }", "ValidationError"),
        ("{", "BadRequestException"),
        ("subscription { onJobUpdate { jobId } }", "BadRequestException"),
    ],
)
def test_queries_answer_as_appsync_does(appsync, query, kind):
    answer = post(appsync, {"Authorization": "tsk_ours_1"}, json.dumps({"query": query}).encode()).json()
    if kind is None:
        assert answer == {"data": {"readFromRest": None}}
    else:
        assert [error["errorType"] for error in answer["errors"]] == [kind]


def test_an_update_stays_below_four_kilobytes():
    assert len(BODY) - len(json.dumps(MUTATION)) < 4096
