"""What tells how it goes: dashboards, alarms with runbook links, metrics of pods and GPUs, the budget."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import Construct

from cdk.api.stack import ApiStack
from cdk.cluster.stack import ClusterStack
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack
from cdk.web.stack import WebStack


class ObservabilityStack(cdk.Stack):
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        data: DataStack,
        api: ApiStack,
        cluster: ClusterStack,
        web: WebStack,
        env: cdk.Environment,
    ) -> None:
        super().__init__(scope, id, env=env)
