"""The three buckets of an installation: its own, with replicas in a second region if there is one, or those replicas
themselves, after a loss of the first region."""

from __future__ import annotations

from typing import Any

from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk.data.buckets import make_models_bucket, make_results_bucket, make_slides_bucket
from cdk.data.recovery import RecoveryStack
from cdk.data.replication import Replication
from cdk.deployment import Deployment


class ObjectBuckets(Construct):
    """`slides`, `results`, `models`, and the `key` of their objects. They are children of `scope`, where they were
    before there were replicas."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        key: kms.IKey,
        access_logs: s3.IBucket,
        recovery: RecoveryStack | None,
    ) -> None:
        super().__init__(scope, id)
        self.slides: s3.IBucket
        self.results: s3.IBucket
        self.models: s3.IBucket
        self.key = key
        if deployment.adopted_key_arn is not None:
            self.key = kms.Key.from_key_arn(self, "AdoptedKey", deployment.adopted_key_arn)
            self.slides, self.results, self.models = (
                s3.Bucket.from_bucket_attributes(
                    self, noun, bucket_name=name, encryption_key=self.key, region=deployment.region
                )
                for noun, name in zip(("Slides", "Results", "Models"), deployment.adopted_buckets, strict=True)
            )
            return
        shared: dict[str, Any] = {"deployment": deployment, "key": key, "access_logs": access_logs}
        if recovery is None:
            self.slides = make_slides_bucket(scope, "Slides", **shared)
            self.results = make_results_bucket(scope, "Results", **shared)
            self.models = make_models_bucket(scope, "Models", **shared)
            return
        replication = Replication(self, "Replication", recovery=recovery)
        self.slides = make_slides_bucket(scope, "Slides", replica=replication.slides, **shared)
        self.results = make_results_bucket(scope, "Results", replica=replication.results, **shared)
        self.models = make_models_bucket(scope, "Models", replica=replication.models, **shared)
        replication.allow((self.slides, self.results, self.models), key)
        if deployment.object_lock:
            replication.allow_locks((self.slides, self.results))
