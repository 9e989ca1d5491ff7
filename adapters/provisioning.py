"""Buckets, queues and users of the embedded stack: the CDK makes them on AWS, this module on the emulator. Running it
again changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adapters.aws_clients import AwsClients
from adapters.settings.queues import DEAD_LETTER_SECONDS, DEAD_LETTERS, QUEUES


@dataclass(frozen=True, kw_only=True, slots=True)
class UserPool:
    issuer: str  #: `iss` of its tokens
    jwks_url: str
    client_id: str
    subjects: Mapping[str, str]  #: `sub` by user name


def create_buckets(clients: AwsClients, names: Iterable[str], *, origins: Iterable[str] = ("*",)) -> None:
    """Create versioned buckets, with the CORS that presigned parts from a browser need (F-43)."""
    # For us-east-1, S3 accepts no constraint.
    placed = {} if clients.region == "us-east-1" else {"LocationConstraint": clients.region}
    there = {bucket["Name"] for bucket in clients.s3.list_buckets()["Buckets"]}
    for name in names:
        if name not in there:
            clients.s3.create_bucket(Bucket=name, **({"CreateBucketConfiguration": placed} if placed else {}))
        clients.s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
        rule = {
            "AllowedOrigins": list(origins),
            "AllowedMethods": ["GET", "PUT"],
            "AllowedHeaders": ["*"],
            "ExposeHeaders": ["ETag", "x-amz-checksum-sha256"],
            "MaxAgeSeconds": 3600,
        }
        clients.s3.put_bucket_cors(Bucket=name, CORSConfiguration={"CORSRules": [rule]})


def create_queues(clients: AwsClients, prefix: str) -> None:
    """Create all queues, each with a dead-letter queue."""
    for name, row in QUEUES.items():
        dead = clients.sqs.create_queue(
            QueueName=prefix + name + DEAD_LETTERS, Attributes={"MessageRetentionPeriod": str(DEAD_LETTER_SECONDS)}
        )
        arn = clients.sqs.get_queue_attributes(QueueUrl=dead["QueueUrl"], AttributeNames=["QueueArn"])
        redrive = {
            "deadLetterTargetArn": arn["Attributes"]["QueueArn"],
            "maxReceiveCount": row.receives,
        }
        clients.sqs.create_queue(
            QueueName=prefix + name,
            Attributes={"VisibilityTimeout": str(row.visibility_seconds), "RedrivePolicy": json.dumps(redrive)},
        )


def create_user_pool(clients: AwsClients, name: str, passwords: Mapping[str, str]) -> UserPool:
    """Create a pool with an app client and one confirmed user for each name (an e-mail address) in `passwords`."""
    pools = clients.cognito.list_user_pools(MaxResults=60)["UserPools"]
    pool = next((found["Id"] for found in pools if found["Name"] == name), None)
    if pool is None:
        pool = clients.cognito.create_user_pool(PoolName=name, UsernameAttributes=["email"])["UserPool"]["Id"]
    return UserPool(
        issuer=f"https://cognito-idp.{clients.region}.amazonaws.com/{pool}",
        jwks_url=f"{clients.endpoint_url}/{pool}/.well-known/jwks.json",
        client_id=_app_client(clients, pool),
        subjects={user: ensure_confirmed_user(clients, pool, user, password) for user, password in passwords.items()},
    )


def _app_client(clients: AwsClients, pool: str) -> str:
    there = clients.cognito.list_user_pool_clients(UserPoolId=pool, MaxResults=60)["UserPoolClients"]
    if there:
        return there[0]["ClientId"]
    made = clients.cognito.create_user_pool_client(
        UserPoolId=pool,
        ClientName="page",
        ExplicitAuthFlows=["ALLOW_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"],
    )
    return made["UserPoolClient"]["ClientId"]


def ensure_confirmed_user(clients: AwsClients, pool: str, email: str, password: str) -> str:
    """Return the `sub` of a user who can sign in; create the user if there is none."""
    there = clients.cognito.list_users(UserPoolId=pool, Filter=f'email = "{email}"')["Users"]
    if not there:
        attributes = [{"Name": "email", "Value": email}, {"Name": "email_verified", "Value": "true"}]
        made = clients.cognito.admin_create_user(
            UserPoolId=pool, Username=email, MessageAction="SUPPRESS", UserAttributes=attributes
        )
        there = [made["User"]]
    clients.cognito.admin_set_user_password(UserPoolId=pool, Username=email, Password=password, Permanent=True)
    return next(item["Value"] for item in there[0]["Attributes"] if item["Name"] == "sub")
