"""Buckets, queues and users for the embedded stack: made by the CDK on AWS, and here on the emulator. Run twice, it
changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adapters.aws_clients import AwsClients
from adapters.settings.queues import (
    DEAD_LETTER_SECONDS,
    DEAD_LETTERS,
    POD_VISIBILITY,
    RECEIVES,
    SHARD_RECEIVES,
)
from wsi.records.notices import QUEUES, SHARD_QUEUES


@dataclass(frozen=True, kw_only=True, slots=True)
class UserPool:
    issuer: str  #: `iss` of its tokens
    jwks_url: str
    client_id: str
    subjects: Mapping[str, str]  #: `sub` by user name


def create_buckets(clients: AwsClients, names: Iterable[str], *, origins: Iterable[str] = ("*",)) -> None:
    """Versioned, with the CORS that presigned parts from a browser need (F-43)."""
    # S3 knows us-east-1 only by the absence of a constraint.
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


def create_queues(clients: AwsClients, prefix: str, *, lambda_visibility: Mapping[str, int]) -> None:
    """All queues, a dead-letter queue each. `lambda_visibility`: s, by queue, of those that a lambda consumes."""
    for name in QUEUES:
        is_shards = name in SHARD_QUEUES.values()
        dead = clients.sqs.create_queue(
            QueueName=prefix + name + DEAD_LETTERS, Attributes={"MessageRetentionPeriod": str(DEAD_LETTER_SECONDS)}
        )
        arn = clients.sqs.get_queue_attributes(QueueUrl=dead["QueueUrl"], AttributeNames=["QueueArn"])
        redrive = {
            "deadLetterTargetArn": arn["Attributes"]["QueueArn"],
            "maxReceiveCount": SHARD_RECEIVES if is_shards else RECEIVES,
        }
        visibility = POD_VISIBILITY if is_shards else lambda_visibility.get(name, POD_VISIBILITY)
        clients.sqs.create_queue(
            QueueName=prefix + name,
            Attributes={"VisibilityTimeout": str(visibility), "RedrivePolicy": json.dumps(redrive)},
        )


def create_user_pool(clients: AwsClients, name: str, passwords: Mapping[str, str]) -> UserPool:
    """A pool with an app client and one confirmed user for each name (an e-mail address) in `passwords`."""
    pools = clients.cognito.list_user_pools(MaxResults=60)["UserPools"]
    pool = next((found["Id"] for found in pools if found["Name"] == name), None)
    if pool is None:
        pool = clients.cognito.create_user_pool(PoolName=name, UsernameAttributes=["email"])["UserPool"]["Id"]
    return UserPool(
        issuer=f"https://cognito-idp.{clients.region}.amazonaws.com/{pool}",
        jwks_url=f"{clients.endpoint_url}/{pool}/.well-known/jwks.json",
        client_id=_app_client(clients, pool),
        subjects={user: confirmed_user(clients, pool, user, password) for user, password in passwords.items()},
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


def confirmed_user(clients: AwsClients, pool: str, email: str, password: str) -> str:
    """The `sub` of a user who can sign in, made where there is none."""
    there = clients.cognito.list_users(UserPoolId=pool, Filter=f'email = "{email}"')["Users"]
    if not there:
        attributes = [{"Name": "email", "Value": email}, {"Name": "email_verified", "Value": "true"}]
        made = clients.cognito.admin_create_user(
            UserPoolId=pool, Username=email, MessageAction="SUPPRESS", UserAttributes=attributes
        )
        there = [made["User"]]
    clients.cognito.admin_set_user_password(UserPoolId=pool, Username=email, Password=password, Permanent=True)
    return next(item["Value"] for item in there[0]["Attributes"] if item["Name"] == "sub")
