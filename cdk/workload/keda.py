"""KEDA: starts workers by the length of their queues, and holds warm nodes by the clock."""

from __future__ import annotations

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from adapters.settings.queues import POD_QUEUES
from cdk.cluster.placement import CLUSTER_CRITICAL, KEDA_NAMESPACE, SYSTEM_LABELS
from cdk.data.stack import DataStack
from cdk.scraping import make_annotations
from cdk.versions import KEDA
from cdk.workload.chart import REPLICAS, Chart, limit_memory, spread_over_zones
from cdk.workload.namespace import Namespace
from cdk.workload.pod_role import PodRole

OPERATOR = "keda-operator"
METRICS_PORT = 8080
_PARTS = {"operator": OPERATOR, "metricsServer": f"{OPERATOR}-metrics-apiserver", "webhooks": "keda-admission-webhooks"}


class Keda(Construct):
    """KEDA. All objects that it acts upon depend on this construct, and so are deleted before KEDA is (F-56)."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster, data: DataStack) -> None:
        super().__init__(scope, id)
        namespace = Namespace(self, "Namespace", cluster=cluster, name=KEDA_NAMESPACE, level="restricted")
        account = PodRole(self, "Account", cluster=cluster, account=OPERATOR, namespace=KEDA_NAMESPACE)
        account.role.add_to_policy(
            iam.PolicyStatement(
                actions=["sqs:GetQueueAttributes"], resources=[data.queues[name].queue_arn for name in POD_QUEUES]
            )
        )
        chart = Chart(
            self,
            "Chart",
            cluster=cluster,
            repository="https://kedacore.github.io/charts",
            name="keda",
            version=KEDA.version,
            namespace=KEDA_NAMESPACE,
            values={
                # Definitions outlive the chart, and so do the objects that they define: helm uninstall would end all
                # workers with them.
                "crds": {"install": True, "additionalAnnotations": {"helm.sh/resource-policy": "keep"}},
                "serviceAccount": {"operator": {"name": OPERATOR}},
                **{part: {"replicaCount": REPLICAS} for part in _PARTS},
                "nodeSelector": {**SYSTEM_LABELS},
                "priorityClassName": CLUSTER_CRITICAL,
                "topologySpreadConstraints": {part: spread_over_zones({"app": app}) for part, app in _PARTS.items()},
                # The chart says metricsServer in some places and metricServer in others.
                "podDisruptionBudget": {
                    part: {"maxUnavailable": 1} for part in ("operator", "metricServer", "webhooks")
                },
                "resources": {
                    "operator": limit_memory("128Mi", "512Mi", "50m"),
                    "metricServer": limit_memory("64Mi", "256Mi", "25m"),
                    "webhooks": limit_memory("32Mi", "128Mi", "10m"),
                },
                "prometheus": {"operator": {"enabled": True, "port": METRICS_PORT}},
                "podAnnotations": {"keda": make_annotations(METRICS_PORT)},
            },
        )
        chart.node.add_dependency(namespace, account)
