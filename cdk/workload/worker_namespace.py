"""The namespace of the workers: restricted pods, shut off but for what a worker needs."""

from __future__ import annotations

from typing import Any

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from cdk.cluster.placement import NAMESPACE, SYSTEM_NAMESPACE, WORKER_PORT
from cdk.data.database import PORT
from cdk.network.stack import NetworkStack
from cdk.workload.namespace import Namespace

POD_IDENTITY_AGENT = "169.254.170.23/32"  #: answers on each node
#: On the pods of workers, which the policy below lets out.
WORKER_LABELS = {"app.kubernetes.io/part-of": "tessera"}


class WorkerNamespace(Construct):
    """The workers' namespace. All resources in it depend on this construct. The network policies are enforced by the
    VPC CNI."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster, network: NetworkStack) -> None:
        super().__init__(scope, id)
        namespace = Namespace(self, "Namespace", cluster=cluster, name=NAMESPACE, level="restricted")
        in_vpc = {"ipBlock": {"cidr": network.vpc.vpc_cidr_block}}
        dns = {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": SYSTEM_NAMESPACE}},
            "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
        }
        agent = {"ipBlock": {"cidr": POD_IDENTITY_AGENT}}
        anywhere = {"ipBlock": {"cidr": "0.0.0.0/0"}}  # S3 and SQS answer from addresses that change
        policies = eks.KubernetesManifest(
            self,
            "NetworkPolicies",
            cluster=cluster,
            manifest=[
                _policy("nothing", pods={}, ingress=[], egress=[]),
                _policy(
                    "worker",
                    pods={"matchLabels": WORKER_LABELS},
                    # The scraper of metrics comes from an address of the VPC. Probes come from the pod's own node,
                    # which policies do not bind.
                    ingress=[{"from": [in_vpc], "ports": _ports(WORKER_PORT)}],
                    egress=[
                        {"to": [dns], "ports": [*_ports(53, "UDP"), *_ports(53)]},
                        {"to": [agent], "ports": _ports(80)},
                        {"to": [in_vpc], "ports": _ports(PORT)},
                        {"to": [anywhere], "ports": _ports(443)},
                    ],
                ),
            ],
        )
        policies.node.add_dependency(namespace)


def _policy(
    name: str, *, pods: dict[str, Any], ingress: list[dict[str, Any]], egress: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"podSelector": pods, "policyTypes": ["Ingress", "Egress"], "ingress": ingress, "egress": egress},
    }


def _ports(port: int, protocol: str = "TCP") -> list[dict[str, Any]]:
    return [{"port": port, "protocol": protocol}]
