"""Both presets, synthesized once a session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

NODE = Path(__file__).parents[2] / ".tools/node_modules/node/bin/node"
if NODE.exists():
    os.environ.setdefault("JSII_NODE", str(NODE))

from tests.cdk.templates import Templates, synthesized  # noqa: E402  # jsii starts Node when it is imported

PRODUCTION = {"domain": "wsi.example.org", "certificate_arn": "arn:aws:acm:us-east-1:111122223333:certificate/x"}


@pytest.fixture(scope="session")
def dev() -> Templates:
    return synthesized(environment="dev")


@pytest.fixture(scope="session")
def prod() -> Templates:
    return synthesized(environment="prod", alarm_email="ops@example.org", mail_from="mail.example.org", **PRODUCTION)


@pytest.fixture(params=["dev", "prod"])
def templates(request: pytest.FixtureRequest) -> Templates:
    """Each preset in turn."""
    return request.getfixturevalue(request.param)
