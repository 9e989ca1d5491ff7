"""The controllers of the cluster, from charts in pinned versions. Workers and what belongs to them come after all of
this and go before it."""

from __future__ import annotations

from constructs import Construct

from cdk.cluster.stack import ClusterStack
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.workload.autoscaler import Autoscaler
from cdk.workload.gpu_daemons import GpuDaemons
from cdk.workload.keda import Keda
from cdk.workload.pod_states import PodStates


class Controllers(Construct):
    """The cluster's controllers. None has a role but the two that call AWS: KEDA's operator and the autoscaler
    (docs/decisions/0025)."""

    def __init__(
        self, scope: Construct, id: str, *, deployment: Deployment, data: DataStack, cluster: ClusterStack
    ) -> None:
        super().__init__(scope, id)
        eks = cluster.cluster
        Keda(self, "Keda", cluster=eks, data=data)
        Autoscaler(self, "Autoscaler", cluster=cluster, deployment=deployment)
        GpuDaemons(self, "Gpus", cluster=eks)
        PodStates(self, "PodStates", cluster=eks)
        # Controllers need nodes to come to, and are gone before the nodes are (F-54).
        self.node.add_dependency(*cluster.node_groups.values())
