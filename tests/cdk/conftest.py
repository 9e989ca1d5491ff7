"""Both presets, synthesized once a session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cdk.templates import Templates

GROUPS = {
    "pathology": {"tenant": "pathology", "role": "analyst"},
    "it-admins": {"tenant": "pathology", "role": "admin"},
}
SAML = {
    "name": "Hospital",
    "metadata_url": "https://login.example.org/metadata",
    "groups": "memberOf",
    "roles": GROUPS,
    "demands_second_factor": True,
}
OIDC = {
    "name": "Hospital",
    "issuer": "https://login.example.org",
    "client_id": "tessera",
    "client_secret_arn": "arn:aws:secretsmanager:eu-central-1:111122223333:secret:sign-on-AbCdEf",
    "groups": "groups",
    "roles": GROUPS,
    "demands_second_factor": True,
}
PRODUCTION = {"domain": "wsi.example.org", "certificate_arn": "arn:aws:acm:us-east-1:111122223333:certificate/x"}


def synthesize(**context: Any) -> Templates:
    # Imported here: jsii starts Node when it is imported, and without one pytest could not even read this file.
    from tests.cdk.templates import synthesized

    return synthesized(**context)


@pytest.fixture(scope="session")
def dev() -> Templates:
    return synthesize(environment="dev")


@pytest.fixture(scope="session")
def prod() -> Templates:
    return synthesize(environment="prod", alarm_email="ops@example.org", mail_from="mail.example.org", **PRODUCTION)


@pytest.fixture(scope="session")
def furnished() -> Templates:
    """With every setting that the presets leave out."""
    return synthesize(
        environment="prod",
        region="us-east-1",
        availability_zones="us-east-1a,us-east-1b,us-east-1d",
        alarm_email="ops@example.org",
        recovery_region="us-west-2",
        object_lock="true",
        mail_from="slides@example.org",
        page_origins="https://lab.example.org",
        allowed_buckets="lab-slides",
        allowed_bucket_keys="arn:aws:kms:us-east-1:111122223333:key/x",
        cluster_admin_role_arn="arn:aws:iam::111122223333:role/operator",
        cluster_endpoint_cidrs="203.0.113.7/32",
        worker_image="codebuild",
        worker_base=f"public.ecr.aws/docker/library/python:3.11-slim@sha256:{'0' * 64}",
        sign_on=SAML,
        **PRODUCTION,
    )


@pytest.fixture(scope="session")
def dev_by_codebuild() -> Templates:
    """As furnished is, CodeBuild builds the worker's image; people sign on by OpenID Connect, told as a string."""
    return synthesize(environment="dev", worker_image="codebuild", sign_on=json.dumps(OIDC))


@pytest.fixture(params=["dev", "prod"])
def templates(request: pytest.FixtureRequest) -> Templates:
    """Each preset in turn."""
    return request.getfixturevalue(request.param)
