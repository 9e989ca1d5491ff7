"""A namespace, and what its pods may be at most."""

from __future__ import annotations

from typing import Literal

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct


class Namespace(eks.KubernetesManifest):
    """`level`: one of Kubernetes' pod security standards, enforced."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        name: str,
        level: Literal["restricted", "privileged"],
    ) -> None:
        labels = {f"pod-security.kubernetes.io/{mode}": level for mode in ("enforce", "audit", "warn")}
        super().__init__(
            scope,
            id,
            cluster=cluster,
            manifest=[{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}],
        )
