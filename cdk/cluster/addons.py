"""Addons that EKS itself installs and keeps working: each in the version that EKS gives a new 1.36 cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk.cluster.placement import GPU_TOLERATIONS, SYSTEM_LABELS
from cdk.scale.addresses import MINIMUM_IP_TARGET, WARM_IP_TARGET


class NodeAddons(Construct):
    """Addons that run on every node, GPU nodes too, and that a node needs before pods may come: node groups depend on
    this construct."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster) -> None:
        super().__init__(scope, id)
        network = iam.Role(
            self,
            "NetworkRole",
            assumed_by=iam.SessionTagsPrincipal(iam.ServicePrincipal("pods.eks.amazonaws.com")),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name("AmazonEKS_CNI_Policy")],
        )
        _addon(self, "IdentityAgent", cluster=cluster, name="eks-pod-identity-agent")
        _addon(self, "Proxy", cluster=cluster, name="kube-proxy")
        _addon(
            self,
            "Network",
            cluster=cluster,
            name="vpc-cni",
            values={
                "enableNetworkPolicy": "true",  # without it NetworkPolicy objects do nothing
                "env": {
                    "MINIMUM_IP_TARGET": str(MINIMUM_IP_TARGET),
                    "WARM_IP_TARGET": str(WARM_IP_TARGET),
                },
            },
            accounts={"aws-node": network},
        )
        # Tells the node group's repair of broken GPUs, on which every shard would fail. Its part for GPUs does not
        # tolerate their taint by itself.
        _addon(
            self,
            "Monitoring",
            cluster=cluster,
            name="eks-node-monitoring-agent",
            values={"dcgmAgent": {"tolerations": [{**toleration} for toleration in GPU_TOLERATIONS]}},
        )


class DnsAddon(Construct):
    """Names of services, on the system group alone: made when that group has nodes, or EKS would wait in vain."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster) -> None:
        super().__init__(scope, id)
        _addon(self, "Dns", cluster=cluster, name="coredns", values={"nodeSelector": {**SYSTEM_LABELS}})


def _addon(
    scope: Construct,
    id: str,
    *,
    cluster: eks.ICluster,
    name: str,
    values: Mapping[str, Any] | None = None,
    accounts: Mapping[str, iam.IRole] | None = None,
) -> None:
    """Make an add-on. `accounts`: roles of its service accounts, by their names."""
    eks.CfnAddon(
        scope,
        id,
        cluster_name=cluster.cluster_name,
        addon_name=name,
        configuration_values=json.dumps(values) if values else None,
        pod_identity_associations=[
            eks.CfnAddon.PodIdentityAssociationProperty(service_account=account, role_arn=role.role_arn)
            for account, role in (accounts or {}).items()
        ]
        or None,
        resolve_conflicts="OVERWRITE",
        preserve_on_delete=False,
    )
