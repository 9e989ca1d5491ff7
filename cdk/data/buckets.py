"""The buckets: slides, results, models. Encrypted, versioned, closed to the public, reached by TLS 1.2 or newer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from adapters.settings.objects import ARCHIVED, SHARD_DAYS, SHARDS, UPLOAD_DAYS
from cdk.data.replica import Replica
from cdk.deployment import Deployment

#: Days in which an object that was overwritten or deleted by mistake can be restored. What `wsi/slides/erasing.py`
#: deletes is gone at once: it names versions.
NONCURRENT_DAYS = 30
#: Browsers must see the first to complete an upload and the second to check a part (F-43).
EXPOSED_HEADERS = ("ETag", "x-amz-checksum-sha256")
_READS = (s3.HttpMethods.GET, s3.HttpMethods.HEAD)


class AccessLogs(s3.Bucket):
    """The bucket for access logs of all other buckets. S3 writes them only to buckets with its own keys."""

    def __init__(self, scope: Construct, id: str, *, deployment: Deployment) -> None:
        super().__init__(
            scope,
            id,
            encryption=s3.BucketEncryption.S3_MANAGED,
            lifecycle_rules=[s3.LifecycleRule(id="expire", expiration=cdk.Duration.days(deployment.audit_days))],
            **make_bucket_settings(deployment),
        )


class DataBucket(s3.Bucket):
    """A bucket for data. `methods`: what browsers of the deployment's origins may do; without an origin no CORS."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        key: kms.IKey,
        access_logs: s3.IBucket,
        methods: Sequence[s3.HttpMethods] = (),
        rules: Sequence[s3.LifecycleRule] = (),
        noncurrent_days: int = NONCURRENT_DAYS,
        has_locks: bool = False,
        replica: Replica | None = None,
    ) -> None:
        housekeeping = s3.LifecycleRule(
            id="housekeeping",
            abort_incomplete_multipart_upload_after=cdk.Duration.days(UPLOAD_DAYS),
            noncurrent_version_expiration=cdk.Duration.days(noncurrent_days),
            expired_object_delete_marker=True,
        )
        super().__init__(
            scope,
            id,
            encryption=s3.BucketEncryption.KMS,
            encryption_key=key,
            bucket_key_enabled=True,  # a request to KMS a bucket and hour, not one an object
            versioned=True,
            object_lock_enabled=has_locks or None,
            server_access_logs_bucket=access_logs,
            server_access_logs_prefix=f"{id.lower()}/",
            lifecycle_rules=[housekeeping, *rules],
            # Instant Retrieval charges each object as 128 KB at least; folders of DICOM and MRXS have smaller files.
            # Buckets whose rules are older than this default of S3 keep another one.
            transition_default_minimum_object_size=s3.TransitionDefaultMinimumObjectSize.ALL_STORAGE_CLASSES_128_K,
            cors=_cors(deployment, methods),
            replication_rules=[replica.make_rule()] if replica else None,
            replication_role=replica.role if replica else None,
            **make_bucket_settings(deployment),
        )


def make_slides_bucket(scope: Construct, id: str, *, deployment: Deployment, **settings: Any) -> DataBucket:
    """Make the bucket for original slides, which are read for weeks, then hardly ever. Old ones move to a storage class
    in which every range is read as before, at another price (docs/decisions/0109)."""
    tag, value = ARCHIVED
    return DataBucket(
        scope,
        id,
        deployment=deployment,
        methods=(s3.HttpMethods.PUT, *_READS),
        has_locks=deployment.object_lock,
        rules=[
            s3.LifecycleRule(
                id="originals",
                transitions=[
                    s3.Transition(
                        storage_class=s3.StorageClass.GLACIER_INSTANT_RETRIEVAL,
                        transition_after=cdk.Duration.days(deployment.instant_retrieval_after_days),
                    )
                ],
            ),
            s3.LifecycleRule(
                id="archived",
                tag_filters={tag: value},
                transitions=[
                    s3.Transition(storage_class=s3.StorageClass.DEEP_ARCHIVE, transition_after=cdk.Duration.days(0))
                ],
            ),
        ],
        **settings,
    )


def make_results_bucket(scope: Construct, id: str, *, deployment: Deployment, **settings: Any) -> DataBucket:
    """Make the bucket for results. They stay; the shards that they were stitched from expire."""
    return DataBucket(
        scope,
        id,
        deployment=deployment,
        methods=_READS,
        has_locks=deployment.object_lock,
        rules=[
            s3.LifecycleRule(
                id="shards",
                prefix=SHARDS,
                expiration=cdk.Duration.days(SHARD_DAYS),
                noncurrent_version_expiration=cdk.Duration.days(1),
            )
        ],
        **settings,
    )


def make_models_bucket(scope: Construct, id: str, *, deployment: Deployment, **settings: Any) -> DataBucket:
    """Make the bucket for model packages."""
    return DataBucket(scope, id, deployment=deployment, **settings)


def _cors(deployment: Deployment, methods: Sequence[s3.HttpMethods]) -> list[s3.CorsRule] | None:
    if not methods or not deployment.origins:
        return None
    return [
        s3.CorsRule(
            allowed_origins=list(deployment.origins),
            allowed_methods=list(methods),
            allowed_headers=["*"],
            exposed_headers=list(EXPOSED_HEADERS),
            max_age=3600,
        )
    ]


def make_bucket_settings(deployment: Deployment) -> dict[str, Any]:
    """Return the settings that all buckets share."""
    return {
        "block_public_access": s3.BlockPublicAccess.BLOCK_ALL,
        "object_ownership": s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
        "enforce_ssl": True,
        "minimum_tls_version": 1.2,
        "removal_policy": cdk.RemovalPolicy.RETAIN if deployment.keeps_data else cdk.RemovalPolicy.DESTROY,
    }
