"""All that must survive: buckets, queues, the database and its migrations."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from cdk.data.audit import Audit
from cdk.data.buckets import AccessLogs
from cdk.data.database import Database
from cdk.data.objects import ObjectBuckets
from cdk.data.owner_functions import OwnerFunctions
from cdk.data.queues import JobQueues
from cdk.data.recovery import RecoveryStack
from cdk.data.source_role import SourceRole
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack


class DataStack(cdk.Stack):
    """`key`, of database and audit; `objects_key`, of the buckets `slides`, `results` and `models`; `queues`;
    `database`; `source_role`, the ARN of the role that reads tenants' sources; `operate`, the owner's function for
    operators; `migrations`, which every function and pod that reads SQL must come after
    (`x.node.add_dependency(data.migrations)`)."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        recovery: RecoveryStack | None,
        env: cdk.Environment,
    ) -> None:
        super().__init__(scope, id, env=env, cross_region_references=recovery is not None)
        self.key = kms.Key(
            self,
            "Key",
            description="Buckets and database of Tessera",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.RETAIN if deployment.keeps_data else cdk.RemovalPolicy.DESTROY,
        )
        access_logs = AccessLogs(self, "AccessLogs", deployment=deployment)
        objects = ObjectBuckets(
            self, "Objects", deployment=deployment, key=self.key, access_logs=access_logs, recovery=recovery
        )
        self.slides, self.results, self.models = objects.slides, objects.results, objects.models
        self.objects_key = objects.key
        self.queues = JobQueues(self, "Queues", prefix=deployment.queue_prefix)
        self.database = Database(
            self, "Database", deployment=deployment, network=network, key=self.key, recovery=recovery
        )
        owner = OwnerFunctions(
            self,
            "Owner",
            deployment=deployment,
            network=network,
            database=self.database,
            objects=objects,
            wake=self.queues["wake"],
        )
        self.migrations: Construct = owner.migrations
        Audit(
            self,
            "Audit",
            deployment=deployment,
            key=self.key,
            access_logs=access_logs,
            watched=[self.slides, self.results],
            functions=owner.invoked_by_hand,
        )
        self.source_role = SourceRole(self, "Sources", deployment=deployment).arn
        self.operate: lambda_.Function = owner.operate
        cdk.CfnOutput(self, "ModelsBucket", value=self.models.bucket_name)
