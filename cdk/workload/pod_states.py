"""States of pods, jobs and nodes as metrics: the rules on pending pods and failed workers read them."""

from __future__ import annotations

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from cdk.cluster.placement import SYSTEM_LABELS, SYSTEM_NAMESPACE
from cdk.scraping import make_annotations
from cdk.versions import KUBE_STATE_METRICS
from cdk.workload.chart import Chart, limit_memory

PORT = 8080


class PodStates(Chart):
    """One replica: two would count everything twice."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster) -> None:
        super().__init__(
            scope,
            id,
            cluster=cluster,
            repository="https://prometheus-community.github.io/helm-charts",
            name="kube-state-metrics",
            version=KUBE_STATE_METRICS.version,
            namespace=SYSTEM_NAMESPACE,
            values={
                "replicas": 1,
                "collectors": ["jobs", "nodes", "pods"],
                "prometheusScrape": False,  # an annotation of its service; the pod's is the one that is read
                "podAnnotations": make_annotations(PORT),
                "nodeSelector": {**SYSTEM_LABELS},
                "resources": limit_memory("64Mi", "256Mi", "10m"),
            },
        )
