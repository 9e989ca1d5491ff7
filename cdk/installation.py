"""All of Tessera on AWS, in the order in which it is deployed: by life-cycle, what changes seldom first."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import Construct

from cdk.api.stack import ApiStack
from cdk.auth.stack import AuthStack
from cdk.cluster.stack import ClusterStack
from cdk.data.recovery import RecoveryStack
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack
from cdk.observability.costs import TAG
from cdk.observability.lateness import Lateness
from cdk.observability.stack import ObservabilityStack
from cdk.realtime.stack import RealtimeStack
from cdk.web.stack import WebStack
from cdk.workload.stack import WorkloadStack


class Installation:
    """The stacks; each takes the ones above it that it needs."""

    def __init__(self, scope: Construct, deployment: Deployment) -> None:
        d = deployment
        env = cdk.Environment(region=d.region)

        def name(noun: str) -> str:
            return f"{d.prefix}-{noun}"

        self.network = NetworkStack(scope, name("network"), deployment=d, env=env)
        self.recovery = None
        if d.recovery_region is not None:
            there = cdk.Environment(region=d.recovery_region)
            self.recovery = RecoveryStack(scope, name("recovery"), deployment=d, env=there)
            Lateness(self.recovery, "Lateness", deployment=d, replicas=self.recovery.replicas)
        self.data = DataStack(scope, name("data"), deployment=d, network=self.network, recovery=self.recovery, env=env)
        self.auth = AuthStack(scope, name("auth"), deployment=d, network=self.network, data=self.data, env=env)
        self.realtime = RealtimeStack(
            scope, name("realtime"), deployment=d, network=self.network, auth=self.auth, env=env
        )
        self.api = ApiStack(
            scope,
            name("api"),
            deployment=d,
            network=self.network,
            data=self.data,
            auth=self.auth,
            realtime=self.realtime,
            env=env,
        )
        self.cluster = ClusterStack(scope, name("cluster"), deployment=d, network=self.network, env=env)
        self.workload = WorkloadStack(
            scope, name("workload"), deployment=d, network=self.network, data=self.data, cluster=self.cluster, env=env
        )
        self.web = WebStack(
            scope,
            name("web"),
            deployment=d,
            network=self.network,
            data=self.data,
            auth=self.auth,
            realtime=self.realtime,
            api=self.api,
            env=env,
        )
        self.observability = ObservabilityStack(
            scope,
            name("observability"),
            deployment=d,
            network=self.network,
            data=self.data,
            auth=self.auth,
            realtime=self.realtime,
            api=self.api,
            cluster=self.cluster,
            recovery=self.recovery,
            env=env,
        )
        # The tag splits costs by installation. This one type takes no tags, whatever its schema says.
        cdk.Tags.of(scope).add(TAG, d.environment, exclude_resource_types=["AWS::RDS::DBProxyTargetGroup"])

    @property
    def stacks(self) -> dict[str, cdk.Stack]:
        """The stacks by noun, in the order of deployment."""
        return {noun: stack for noun, stack in vars(self).items() if isinstance(stack, cdk.Stack)}
