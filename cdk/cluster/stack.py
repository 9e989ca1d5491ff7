"""The EKS cluster and its node groups."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_eks_v2 as eks
from aws_cdk.lambda_layer_kubectl_v36 import KubectlV36Layer
from constructs import Construct

from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack


class ClusterStack(cdk.Stack):
    """`cluster`; `node_groups` by pool name ("system", "gpu-spot", "gpu-on-demand"), which charts must depend on."""

    def __init__(
        self, scope: Construct, id: str, *, deployment: Deployment, network: NetworkStack, env: cdk.Environment
    ) -> None:
        super().__init__(scope, id, env=env)
        self.cluster = eks.Cluster(
            self,
            "Cluster",
            version=eks.KubernetesVersion.V1_36,
            vpc=network.vpc,
            vpc_subnets=[network.private],
            default_capacity_type=eks.DefaultCapacityType.NODEGROUP,
            default_capacity=0,
            kubectl_provider_options=eks.KubectlProviderOptions(kubectl_layer=KubectlV36Layer(self, "Kubectl")),
        )
        self.node_groups: dict[str, eks.Nodegroup] = {}
