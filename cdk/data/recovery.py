"""Replicas in a second region: buckets that S3 copies slides, results and models into, and the key of these and of the
database's backups there. Without the setting `recovery_region` there is no such stack.

After a loss of the first region these buckets become those of the installation that is restored here
(scripts/restore.sh), so they have the life cycle and the CORS of the originals.
"""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk.data.buckets import AccessLogs, make_models_bucket, make_results_bucket, make_slides_bucket
from cdk.deployment import Deployment

#: Days in which a replica that was overwritten or deleted can be restored. S3 replicates no deletion of versions: what
#: `delete_slide` deletes at once is there until then, hidden by a marker (docs/decisions/0115).
NONCURRENT_DAYS = 7


class RecoveryStack(cdk.Stack):
    """`key`; `slides`, `results` and `models`, which are also the `replicas` by their names."""

    def __init__(self, scope: Construct, id: str, *, deployment: Deployment, env: cdk.Environment) -> None:
        super().__init__(scope, id, env=env, cross_region_references=True)
        self.key = kms.Key(
            self,
            "Key",
            description="Replicas and database backups of Tessera",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.RETAIN if deployment.keeps_data else cdk.RemovalPolicy.DESTROY,
        )
        shared: dict[str, Any] = {
            "deployment": deployment,
            "key": self.key,
            "access_logs": AccessLogs(self, "AccessLogs", deployment=deployment),
            "noncurrent_days": NONCURRENT_DAYS,
        }
        self.slides: s3.IBucket = make_slides_bucket(self, "Slides", **shared)
        self.results: s3.IBucket = make_results_bucket(self, "Results", **shared)
        self.models: s3.IBucket = make_models_bucket(self, "Models", **shared)
        self.replicas = {"slides": self.slides, "results": self.results, "models": self.models}
        for name, bucket in self.replicas.items():
            cdk.CfnOutput(self, f"{name.title()}Bucket", value=bucket.bucket_name)
        cdk.CfnOutput(self, "KeyArn", value=self.key.key_arn)
