"""A service account whose pods get a role by EKS Pod Identity, and no token of Kubernetes itself."""

from __future__ import annotations

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from cdk.workload.pod_role import PodRole


class PodAccount(PodRole):
    """`name`, in `namespace`; `role`.

    Not the CDK's own ServiceAccount: that also carries the annotation of the older mechanism (IRSA), which needs an
    identity provider that this cluster has not, and mounts a token for Kubernetes' API into every pod.
    """

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster, name: str, namespace: str) -> None:
        super().__init__(scope, id, cluster=cluster, account=name, namespace=namespace)
        self.name = name
        eks.KubernetesManifest(
            self,
            "Account",
            cluster=cluster,
            manifest=[
                {
                    "apiVersion": "v1",
                    "kind": "ServiceAccount",
                    "metadata": {"name": name, "namespace": namespace},
                    "automountServiceAccountToken": False,
                }
            ],
        )
