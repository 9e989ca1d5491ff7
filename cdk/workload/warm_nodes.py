"""GPU nodes that wait for work in working hours, each held by a pod that does nothing and gives way at once (F-15)."""

from __future__ import annotations

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from cdk.cluster.placement import GPU, GPU_LABELS, GPU_TOLERATIONS, NAMESPACE
from cdk.deployment import Deployment
from cdk.versions import PAUSE
from cdk.workload.pod import UNPRIVILEGED, USER, make_security_context
from cdk.workload.priorities import WARM
from cdk.workload.scaled_worker import KEDA_API

IMAGE = f"registry.k8s.io/pause:{PAUSE.version}"
NAME = "warm-nodes"


class WarmNodes(Construct):
    """Pods that hold `deployment.warm_nodes` GPUs free. A worker pre-empts such a pod and starts on a node that is up
    and has its image. The pending pod makes the autoscaler start the next node, so that the requested number stays
    warm."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        deployment: Deployment,
        image: str,
    ) -> None:
        """Make the pods and their hours. `image`: the worker's, fetched before the pod counts as running."""
        super().__init__(scope, id)
        labels = {"app.kubernetes.io/name": NAME}
        small = {"cpu": "10m", "memory": "32Mi"}
        pod = {
            "metadata": {"labels": labels},
            "spec": {
                "automountServiceAccountToken": False,
                "enableServiceLinks": False,
                "priorityClassName": WARM,
                "terminationGracePeriodSeconds": 0,
                "nodeSelector": {**GPU_LABELS},
                "tolerations": [{**toleration} for toleration in GPU_TOLERATIONS],
                "securityContext": make_security_context(USER),
                "initContainers": [
                    {
                        "name": "fetch-image",
                        "image": image,
                        "command": ["true"],
                        "resources": {"requests": small, "limits": {"memory": small["memory"]}},
                        "securityContext": UNPRIVILEGED,
                    }
                ],
                "containers": [
                    {
                        "name": "pause",
                        "image": IMAGE,
                        "resources": {
                            "requests": {**small, GPU: "1"},
                            "limits": {"memory": small["memory"], GPU: "1"},
                        },
                        "securityContext": UNPRIVILEGED,
                    }
                ],
            },
        }
        held = eks.KubernetesManifest(
            self,
            "Deployment",
            cluster=cluster,
            manifest=[
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "metadata": {"name": NAME, "namespace": NAMESPACE},
                    "spec": {
                        # No replicas: they are KEDA's business, and each deployment would set them back.
                        "selector": {"matchLabels": labels},
                        "strategy": {"type": "Recreate"},  # a rolling update would start a node more
                        "template": pod,
                    },
                }
            ],
        )
        hours = deployment.warm_hours
        scaled = eks.KubernetesManifest(
            self,
            "Hours",
            cluster=cluster,
            manifest=[
                {
                    "apiVersion": KEDA_API,
                    "kind": "ScaledObject",
                    "metadata": {"name": NAME, "namespace": NAMESPACE},
                    "spec": {
                        "scaleTargetRef": {"name": NAME},
                        "minReplicaCount": 0,
                        "maxReplicaCount": deployment.warm_nodes,
                        "triggers": [
                            {
                                "type": "cron",
                                "metadata": {
                                    "timezone": hours.timezone,
                                    "start": hours.start,
                                    "end": hours.end,
                                    "desiredReplicas": str(deployment.warm_nodes),
                                },
                            }
                        ],
                    },
                }
            ],
        )
        scaled.node.add_dependency(held)
