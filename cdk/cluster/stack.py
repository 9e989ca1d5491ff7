"""The EKS cluster: its control plane, what runs on every node, and the nodes."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk.lambda_layer_kubectl_v36 import KubectlV36Layer
from constructs import Construct

from cdk.cluster.addons import DnsAddon, NodeAddons
from cdk.cluster.node_groups import NodeGroups
from cdk.cluster.placement import SYSTEM
from cdk.deployment import Deployment
from cdk.log_group import LogGroup
from cdk.network.stack import NetworkStack
from cdk.versions import KUBERNETES

VERSION = eks.KubernetesVersion.of(KUBERNETES.version)  #: with the kubectl layer of the same, above


class ClusterStack(cdk.Stack):
    """`cluster`, and its `name`, which is no token; `node_groups` by pool name (cdk/cluster/placement.py), which
    charts must depend on."""

    def __init__(
        self, scope: Construct, id: str, *, deployment: Deployment, network: NetworkStack, env: cdk.Environment
    ) -> None:
        super().__init__(scope, id, env=env)
        self.name = deployment.prefix
        log_group = LogGroup(
            self,
            "Logs",
            deployment=deployment,
            key=network.log_key,
            name=f"/aws/eks/{self.name}/cluster",  # EKS writes there, and makes it if it must: kept for ever
        )
        self.cluster = self._cluster(deployment, network)
        self.cluster.node.add_dependency(log_group)
        if deployment.cluster_admin_role_arn:
            self.cluster.grant_cluster_admin("Admin", deployment.cluster_admin_role_arn)
        addons = NodeAddons(self, "NodeAddons", cluster=self.cluster)
        groups = NodeGroups(
            self, "NodeGroups", cluster=self.cluster, version=VERSION, deployment=deployment, network=network
        )
        groups.node.add_dependency(addons)
        self.node_groups = groups.by_pool
        DnsAddon(self, "DnsAddon", cluster=self.cluster).node.add_dependency(self.node_groups[SYSTEM])

    def _cluster(self, deployment: Deployment, network: NetworkStack) -> eks.Cluster:
        cidrs = deployment.cluster_endpoint_cidrs
        cluster = eks.Cluster(
            self,
            "Cluster",
            cluster_name=self.name,
            version=VERSION,
            vpc=network.vpc,
            vpc_subnets=[network.private],
            endpoint_access=(
                eks.EndpointAccess.PUBLIC_AND_PRIVATE.only_from(*cidrs) if cidrs else eks.EndpointAccess.PRIVATE
            ),
            # Its creator is CloudFormation's role, which needs no rights in it: kubectl has a role of its own.
            bootstrap_cluster_creator_admin_permissions=False,
            bootstrap_self_managed_addons=False,  # EKS manages all of them as add-ons
            secrets_encryption_key=kms.Key(
                self,
                "SecretsKey",
                description="Secrets of Kubernetes",
                enable_key_rotation=True,
                removal_policy=cdk.RemovalPolicy.DESTROY,
            ),
            cluster_logging=list(eks.ClusterLoggingTypes),
            default_capacity_type=eks.DefaultCapacityType.NODEGROUP,
            default_capacity=0,
            kubectl_provider_options=eks.KubectlProviderOptions(kubectl_layer=KubectlV36Layer(self, "Kubectl")),
            output_config_command=False,
        )
        # The CDK makes the log groups of its functions for kubectl, and takes neither key nor retention for them.
        for found in cluster.node.find_all():
            if isinstance(found, logs.CfnLogGroup):
                found.kms_key_id = network.log_key.key_arn
                found.retention_in_days = deployment.log_days
                found.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
        return cluster
