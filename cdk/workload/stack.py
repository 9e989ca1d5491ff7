"""What runs on the cluster: its controllers and the workers."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import Construct

from cdk.cluster.stack import ClusterStack
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack


class WorkloadStack(cdk.Stack):
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        data: DataStack,
        cluster: ClusterStack,
        env: cdk.Environment,
    ) -> None:
        super().__init__(scope, id, env=env)
