"""What must survive: buckets, queues, the database and its migrations."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk.data.database import Database
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
        self.key = kms.Key(self, "Key", enable_key_rotation=True)
        self.slides = s3.Bucket(self, "Slides", encryption_key=self.key)
        self.results = s3.Bucket(self, "Results", encryption_key=self.key)
        self.models = s3.Bucket(self, "Models", encryption_key=self.key)
        self.queues = JobQueues(self, "Queues", prefix=deployment.queue_prefix)
        self.database = Database(self, "Database", deployment=deployment, network=network, key=self.key)
        self.migrations: Construct = self.database
