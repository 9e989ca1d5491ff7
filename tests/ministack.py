"""The emulator for tests that need S3, SQS or Cognito over HTTP: one a session, tests apart by bucket and prefix."""

from __future__ import annotations

import os
from uuid import uuid4

import pytest

from adapters.aws_clients import AwsClients
from local.ministack import MiniStack
from tests.prerequisites import EMULATOR

REGION = "eu-central-1"


@pytest.fixture(scope="session")
def ministack(tmp_path_factory):
    EMULATOR.require()
    server = MiniStack(tmp_path_factory.mktemp("ministack"), region=REGION, durable=False)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def credentials(monkeypatch):
    """The SDK's chain ends here: no profile or role of whoever runs the tests is touched."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def clients(ministack, credentials):
    return AwsClients(REGION, ministack.url)


@pytest.fixture
def fresh_name():
    """A bucket's name or a queue prefix that no other test has."""
    return f"t{uuid4().hex[:12]}"
