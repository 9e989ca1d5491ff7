"""All that must survive: buckets, queues, the database and its migrations."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from constructs import Construct

from cdk.data.audit import Audit
from cdk.data.buckets import AccessLogs, DataBucket, make_results_bucket, make_slides_bucket
from cdk.data.database import Database
from cdk.data.owner_functions import OwnerFunctions
from cdk.data.queues import JobQueues
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack


class DataStack(cdk.Stack):
    """`key`, of buckets and database; `slides`, `results`, `models`; `queues`; `database`; `migrations`, which every
    function and pod that reads SQL must come after (`x.node.add_dependency(data.migrations)`)."""

    def __init__(
        self, scope: Construct, id: str, *, deployment: Deployment, network: NetworkStack, env: cdk.Environment
    ) -> None:
        super().__init__(scope, id, env=env)
        self.key = kms.Key(
            self,
            "Key",
            description="Buckets and database of Tessera",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.RETAIN if deployment.keeps_data else cdk.RemovalPolicy.DESTROY,
        )
        access_logs = AccessLogs(self, "AccessLogs", deployment=deployment)
        self.slides = make_slides_bucket(self, "Slides", deployment=deployment, key=self.key, access_logs=access_logs)
        self.results = make_results_bucket(
            self, "Results", deployment=deployment, key=self.key, access_logs=access_logs
        )
        self.models = DataBucket(self, "Models", deployment=deployment, key=self.key, access_logs=access_logs)
        Audit(
            self,
            "Audit",
            deployment=deployment,
            key=self.key,
            access_logs=access_logs,
            watched=[self.slides, self.results],
        )
        self.queues = JobQueues(self, "Queues", prefix=deployment.queue_prefix)
        self.database = Database(self, "Database", deployment=deployment, network=network, key=self.key)
        self.migrations: Construct = OwnerFunctions(
            self, "Owner", deployment=deployment, network=network, database=self.database
        ).migrations
        cdk.CfnOutput(self, "ModelsBucket", value=self.models.bucket_name)
