"""Replication of the buckets into a second region: the role that S3 copies in, and the replica of each bucket."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk.data.recovery import RecoveryStack
from cdk.data.replica import Replica


class Replication(Construct):
    """The replicas in the buckets of `recovery`, by its outputs: their stack must know nothing of this one, since it
    comes first."""

    def __init__(self, scope: Construct, id: str, *, recovery: RecoveryStack) -> None:
        super().__init__(scope, id)
        self._region = recovery.region
        self._key = kms.Key.from_key_arn(self, "Key", recovery.key.key_arn)
        self._role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("s3.amazonaws.com"))
        # Originals are with whoever scanned them for some days: no promise is bought for their gigabytes, and nobody
        # reads their replicas before a loss.
        self.slides = self._replica(
            "Slides", recovery.slides, is_timed=False, storage_class=s3.StorageClass.GLACIER_INSTANT_RETRIEVAL
        )
        self.results = self._replica("Results", recovery.results, is_timed=True)
        self.models = self._replica("Models", recovery.models, is_timed=True)

    def allow(self, sources: Sequence[s3.IBucket], key: kms.IKey) -> None:
        """Allow S3 to read `sources`, which `key` encrypts, and to write the replicas."""
        replicas = [one.bucket.arn_for_objects("*") for one in (self.slides, self.results, self.models)]
        objects = [source.arn_for_objects("*") for source in sources]
        self._may(["s3:GetReplicationConfiguration", "s3:ListBucket"], [source.bucket_arn for source in sources])
        self._may(
            ["s3:GetObjectVersionForReplication", "s3:GetObjectVersionAcl", "s3:GetObjectVersionTagging"], objects
        )
        self._may(["s3:ReplicateObject", "s3:ReplicateDelete", "s3:ReplicateTags"], replicas)
        self._may(["kms:Decrypt"], [key.key_arn], through=cdk.Stack.of(self).region)
        self._may(["kms:Encrypt"], [self._key.key_arn], through=self._region)

    def allow_locks(self, sources: Sequence[s3.IBucket]) -> None:
        """Allow S3 to read the locks of `sources`, which it sets on replicas too. Their buckets need Object Lock then:
        S3 copies nothing from a bucket with it into one without."""
        objects = [source.arn_for_objects("*") for source in sources]
        self._may(["s3:GetObjectRetention", "s3:GetObjectLegalHold"], objects)

    def _may(self, actions: list[str], resources: list[str], *, through: str | None = None) -> None:
        conditions = {"StringEquals": {"kms:ViaService": f"s3.{through}.amazonaws.com"}} if through else None
        self._role.add_to_policy(iam.PolicyStatement(actions=actions, resources=resources, conditions=conditions))

    def _replica(
        self, id: str, bucket: s3.IBucket, *, is_timed: bool, storage_class: s3.StorageClass | None = None
    ) -> Replica:
        known = s3.Bucket.from_bucket_name(self, id, bucket.bucket_name)
        return Replica(bucket=known, key=self._key, role=self._role, is_timed=is_timed, storage_class=storage_class)
