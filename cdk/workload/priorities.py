"""Priorities: which pods give way to which on a full node."""

from __future__ import annotations

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

#: As everything without a class: on a GPU node it takes no room from the DaemonSets, which have that too or more.
WORKER = "tessera-worker"
#: Below the controllers on the nodes of the system group, and takes nobody's place.
HEAVY = "tessera-heavy"
#: Below every worker. Not below -10: for pods under that the autoscaler starts no node (its
#: --expendable-pods-priority-cutoff).
WARM = "tessera-warm"

_VALUES = {WORKER: (0, "PreemptLowerPriority"), HEAVY: (-1, "Never"), WARM: (-5, "Never")}


class Priorities(Construct):
    """The priority classes of our pods."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster) -> None:
        super().__init__(scope, id)
        eks.KubernetesManifest(
            self,
            "Classes",
            cluster=cluster,
            manifest=[
                {
                    "apiVersion": "scheduling.k8s.io/v1",
                    "kind": "PriorityClass",
                    "metadata": {"name": name},
                    "value": value,
                    "preemptionPolicy": preemption,
                    "globalDefault": False,
                }
                for name, (value, preemption) in _VALUES.items()
            ],
        )
