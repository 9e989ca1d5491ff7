"""Logs of workers and their controllers, kept after their pods are gone: an agent on each node forwards them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk.cluster.placement import KEDA_NAMESPACE, NAMESPACE, NODE_CRITICAL, NVIDIA_NAMESPACE, SYSTEM_NAMESPACE
from cdk.deployment import Deployment
from cdk.log_group import LogGroup
from cdk.network.stack import NetworkStack
from cdk.versions import FLUENT_BIT
from cdk.workload.pod import UNPRIVILEGED
from cdk.workload.pod_account import PodAccount

#: The image starts with the file of this name in FOLDER, and with no other.
CONFIG = Path(__file__).resolve().parent / "fluent-bit.conf"
FOLDER = "/fluent-bit/etc"
IMAGE = f"public.ecr.aws/aws-observability/aws-for-fluent-bit:{FLUENT_BIT.version}"
NAME = "pod-logs"
#: Namespaces whose pods are read.
READ = (NAMESPACE, KEDA_NAMESPACE, NVIDIA_NAMESPACE, SYSTEM_NAMESPACE)


class PodLogs(Construct):
    """`log_group`: a stream for each container, `pod.<namespace>.<pod>.<container>`."""

    def __init__(
        self, scope: Construct, id: str, *, deployment: Deployment, network: NetworkStack, cluster: eks.ICluster
    ) -> None:
        super().__init__(scope, id)
        group = f"/tessera/{deployment.environment}/pods"
        self.log_group = LogGroup(self, "Logs", deployment=deployment, key=network.log_key, name=group)
        account = PodAccount(self, "Account", cluster=cluster, name=NAME, namespace=SYSTEM_NAMESPACE)
        account.role.add_to_policy(
            iam.PolicyStatement(
                actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                resources=[self.log_group.log_group_arn],  # ends in ":*": its streams
            )
        )
        paths = ", ".join(f"/var/log/containers/*_{namespace}_*.log" for namespace in READ)
        config = CONFIG.read_text()
        for name, value in (("paths", paths), ("region", deployment.region), ("group", group)):
            config = config.replace(f"@{name}@", value)
        agent = eks.KubernetesManifest(
            self, "Agent", cluster=cluster, manifest=[_config_map(config), _daemon_set(config)]
        )
        agent.node.add_dependency(account)


def _config_map(config: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": SYSTEM_NAMESPACE},
        "data": {CONFIG.name: config},
    }


def _daemon_set(config: str) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": NAME}
    mounts = (
        ("config", FOLDER, {"configMap": {"name": NAME}}),
        ("logs", "/var/log", {"hostPath": {"path": "/var/log", "type": "Directory"}}),
        ("state", "/state", {"hostPath": {"path": f"/var/lib/{NAME}", "type": "DirectoryOrCreate"}}),
    )
    container = {
        "name": NAME,
        "image": IMAGE,
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        # Root, since the kubelet lets nobody else read; with no other power.
        "securityContext": {"runAsUser": 0, **UNPRIVILEGED},
        "volumeMounts": [{"name": name, "mountPath": path, "readOnly": name != "state"} for name, path, _ in mounts],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME, "namespace": SYSTEM_NAMESPACE},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {
                    "labels": labels,
                    # Another configuration makes other pods; they would go on with the old one.
                    "annotations": {"tessera/config": hashlib.sha256(config.encode()).hexdigest()},
                },
                "spec": {
                    "serviceAccountName": NAME,
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    "priorityClassName": NODE_CRITICAL,
                    "terminationGracePeriodSeconds": 40,  # above Grace, in which the last lines leave
                    "tolerations": [{"operator": "Exists"}],  # on every node, GPU nodes too
                    "containers": [container],
                    "volumes": [{"name": name, **source} for name, _, source in mounts],
                },
            },
        },
    }
