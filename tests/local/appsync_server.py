"""The AppSync server of the embedded stack on a free port, in a thread, with an authorizer of two tenants."""

from __future__ import annotations

import shutil
from functools import partial

import pytest
from botocore.credentials import ReadOnlyCredentials

from adapters.appsync import SERVICE
from adapters.sigv4 import find_refusal
from local.appsync.callers import Doorkeeper
from local.appsync.server import FOLDER, make_appsync_app
from local.gateway.http_server import HttpServer
from local.lambda_context import LambdaContext
from tests.ministack import REGION
from tests.prerequisites import NODE
from tests.updates import any_update

CREDENTIALS = ReadOnlyCredentials("test", "test", None, None)
TENANTS = {"tsk_ours_1": "tenant-a", "tsk_ours_4": "tenant-a", "tsk_theirs_2": "tenant-b", "tsk_none_3": ""}

FILTER_LINE = "  extensions.setSubscriptionFilter(util.transform.toSubscriptionFilter(filter));\n"


def authorizer(event, context):
    token = event["authorizationToken"]
    assert set(event) == {"authorizationToken", "requestContext", "requestHeaders"}
    if token not in TENANTS:
        return {"isAuthorized": False}
    tenant = TENANTS[token]
    return {"isAuthorized": True, "resolverContext": {"tenant": tenant, "subject": f"key:{token}"} if tenant else {}}


def doorkeeper():
    return Doorkeeper(
        authorizer=authorizer,
        signature_refusal=lambda method, url, headers, body, now: find_refusal(
            method, url, headers, body, CREDENTIALS, region=REGION, service=SERVICE, now=now
        ),
        lambda_context=partial(LambdaContext, "authorizer"),
    )


@pytest.fixture
def appsync(credentials):
    NODE.require()
    server = HttpServer("appsync", lambda: make_appsync_app(doorkeeper()))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def leaky_appsync(credentials, tmp_path):
    """The same with the filter line taken out of a copy of the subscription resolver."""
    NODE.require()
    folder = shutil.copytree(FOLDER, tmp_path / "appsync")
    resolver = folder / "onJobUpdate.js"
    whole = resolver.read_text()
    assert whole.count(FILTER_LINE) == 1
    resolver.write_text(whole.replace(FILTER_LINE, ""))
    server = HttpServer("appsync", lambda: make_appsync_app(doorkeeper(), folder=folder))
    server.start()
    yield server
    server.stop()


def job_update(tenant="tenant-a", job="job-1", *, seq=0, **changes):
    counted = {"progress": 0.5, "tiles_planned": 100, "tiles_inferred": 49, "tiles_unreadable": 1}
    return any_update(
        job_id=job,
        tenant=tenant,
        slide_id="slide-1",
        version=3,
        progress_seq=seq,
        **{**counted, "tiles_per_second": 12.5, **changes},
    )
