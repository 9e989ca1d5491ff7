"""Daemons that a GPU node needs next to its driver: the plugin that offers its GPU to pods, the exporter that measures
it."""

from __future__ import annotations

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from cdk.cluster.placement import GPU_LABELS, GPU_TOLERATIONS, NVIDIA_NAMESPACE
from cdk.scraping import make_annotations
from cdk.versions import DCGM_EXPORTER, DEVICE_PLUGIN
from cdk.workload.chart import Chart, limit_memory
from cdk.workload.namespace import Namespace

DCGM_PORT = 9400


class GpuDaemons(Construct):
    """AL2023's image brings driver and runtime, but no plugin."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster) -> None:
        super().__init__(scope, id)
        # Both read the kubelet's sockets on the host.
        namespace = Namespace(self, "Namespace", cluster=cluster, name=NVIDIA_NAMESPACE, level="privileged")
        tolerations = [{**toleration} for toleration in GPU_TOLERATIONS]
        device_plugin = Chart(
            self,
            "DevicePlugin",
            cluster=cluster,
            repository="https://nvidia.github.io/k8s-device-plugin",
            name="nvidia-device-plugin",
            version=DEVICE_PLUGIN.version,
            namespace=NVIDIA_NAMESPACE,
            values={
                # In place of the chart's own affinity, to labels that another NVIDIA chart would have to set first.
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [
                                        {"key": key, "operator": "In", "values": [value]}
                                        for key, value in GPU_LABELS.items()
                                    ]
                                }
                            ]
                        }
                    }
                },
                "tolerations": tolerations,
                "resources": limit_memory("64Mi", "256Mi", "20m"),
            },
        )
        dcgm = Chart(
            self,
            "Dcgm",
            cluster=cluster,
            repository="https://nvidia.github.io/dcgm-exporter/helm-charts",
            name="dcgm-exporter",
            version=DCGM_EXPORTER.version,
            namespace=NVIDIA_NAMESPACE,
            values={
                "serviceMonitor": {"enabled": False},  # an object of Prometheus' operator, which is not here
                "podAnnotations": make_annotations(DCGM_PORT),
                "nodeSelector": {**GPU_LABELS},
                "tolerations": tolerations,
                "resources": limit_memory("256Mi", "1Gi", "50m"),  # 128Mi kill it (F-25)
            },
        )
        for chart in (device_plugin, dcgm):
            chart.node.add_dependency(namespace)
