"""Where pods run and where they answer: what node groups set, what pods ask for, what rules of the network name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Of the workers and what belongs to them.
NAMESPACE = "tessera"

GPU = "nvidia.com/gpu"  #: the resource of a GPU, and the key of its nodes' taint
#: Set by every GPU node group. The autoscaler also knows by it that a fresh node may still be without its GPU.
GPU_LABELS: Mapping[str, str] = {"k8s.amazonaws.com/accelerator": "nvidia"}
GPU_TAINT: Mapping[str, str] = {"key": GPU, "value": "present", "effect": "NoSchedule"}
GPU_TOLERATIONS: tuple[Mapping[str, Any], ...] = ({"key": GPU, "operator": "Exists", "effect": "NoSchedule"},)

POOL = "tessera/pool"  #: label with the node group's name of ClusterStack.node_groups
SYSTEM_LABELS: Mapping[str, str] = {POOL: "system"}

#: A worker answers /live, /health and /metrics there.
WORKER_PORT = 8080
