"""The cluster autoscaler: adds nodes for pods that fit nowhere, spot before on demand, and takes empty ones away."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from adapters.settings.scaling import NODE_UNNEEDED_SECONDS
from cdk.cluster.placement import CLUSTER_CRITICAL, GPU_ON_DEMAND, GPU_SPOT, SYSTEM_LABELS, SYSTEM_NAMESPACE
from cdk.cluster.stack import ClusterStack
from cdk.deployment import Deployment
from cdk.versions import AUTOSCALER, AUTOSCALER_IMAGE
from cdk.workload.chart import REPLICAS, Chart, limit_memory, spread_over_zones
from cdk.workload.pod import UNPRIVILEGED
from cdk.workload.pod_role import PodRole

NAME = "cluster-autoscaler"
#: EKS names the group of a node group eks-<node group>-<uuid>. The highest number that fits a pod is taken; one that
#: fails, for want of spot capacity, is left out for five minutes, and then the next is.
PRIORITIES = {"20": [f"^eks-{GPU_SPOT}-"], "10": [f"^eks-{GPU_ON_DEMAND}-"], "1": [".*"]}

#: None of them knows resources.
_LOOKS = (
    *("autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeAutoScalingInstances"),
    *("autoscaling:DescribeScalingActivities", "autoscaling:DescribeTags"),
    *("ec2:DescribeInstanceTypes", "ec2:DescribeLaunchTemplateVersions"),
)


class Autoscaler(Construct):
    """Finds the node groups of this cluster by the tags that EKS puts on them."""

    def __init__(self, scope: Construct, id: str, *, cluster: ClusterStack, deployment: Deployment) -> None:
        super().__init__(scope, id)
        account = PodRole(self, "Account", cluster=cluster.cluster, account=NAME, namespace=SYSTEM_NAMESPACE)
        self._allow(account.role, cluster.name)
        unneeded = f"{NODE_UNNEEDED_SECONDS}s"
        chart = Chart(
            self,
            "Chart",
            cluster=cluster.cluster,
            repository="https://kubernetes.github.io/autoscaler",
            name=NAME,
            version=AUTOSCALER.version,
            namespace=SYSTEM_NAMESPACE,
            values={
                "cloudProvider": "aws",
                "awsRegion": deployment.region,
                "autoDiscovery": {"clusterName": cluster.name},
                "image": {"tag": AUTOSCALER_IMAGE.version},
                "fullnameOverride": NAME,
                "rbac": {"serviceAccount": {"name": NAME}},
                "expanderPriorities": PRIORITIES,
                "extraArgs": {
                    "expander": "priority,least-waste",
                    "scale-down-unneeded-time": unneeded,
                    "scale-down-delay-after-add": unneeded,
                    # Volumes of pods go with their node: nothing on them is to be kept.
                    "skip-nodes-with-local-storage": "false",
                    # From the request to Ready a GPU node takes two to four minutes; what takes longer never comes.
                    "max-node-provision-time": "8m",
                    # Its default, said aloud: the pods that hold warm nodes have -5, and must start nodes.
                    "expendable-pods-priority-cutoff": "-10",
                    "v": "2",
                },
                "replicaCount": REPLICAS,
                "nodeSelector": {**SYSTEM_LABELS},
                "priorityClassName": CLUSTER_CRITICAL,
                "topologySpreadConstraints": spread_over_zones({"app.kubernetes.io/instance": NAME}),
                "resources": limit_memory("256Mi", "512Mi", "50m"),
                "securityContext": {
                    "runAsNonRoot": True,
                    "runAsUser": 65534,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containerSecurityContext": UNPRIVILEGED,
            },
        )
        chart.node.add_dependency(account)

    def _allow(self, role: iam.Role, cluster: str) -> None:
        stack = cdk.Stack.of(self)
        here = f"{stack.region}:{stack.account}"
        role.add_to_policy(iam.PolicyStatement(actions=[*_LOOKS], resources=["*"]))
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["eks:DescribeNodegroup"],
                resources=[f"arn:{stack.partition}:eks:{here}:nodegroup/{cluster}/*/*"],
            )
        )
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"],
                resources=[f"arn:{stack.partition}:autoscaling:{here}:autoScalingGroup:*:autoScalingGroupName/eks-*"],
                conditions={"StringEquals": {f"aws:ResourceTag/k8s.io/cluster-autoscaler/{cluster}": "owned"}},
            )
        )
