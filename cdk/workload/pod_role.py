"""A role for the pods of a service account, by EKS Pod Identity."""

from __future__ import annotations

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct


class PodRole(Construct):
    """`role`. The account itself need not exist; pods that began before the association go without the role."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster, account: str, namespace: str) -> None:
        super().__init__(scope, id)
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.SessionTagsPrincipal(iam.ServicePrincipal("pods.eks.amazonaws.com")),
        )
        eks.CfnPodIdentityAssociation(
            self,
            "Association",
            cluster_name=cluster.cluster_name,
            namespace=namespace,
            service_account=account,
            role_arn=self.role.role_arn,
        )
