"""Placement of pods, and their ports: labels and taints of node groups, tolerations of pods, names in network rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Of the workers and what belongs to them.
NAMESPACE = "tessera"
KEDA_NAMESPACE = "keda"
NVIDIA_NAMESPACE = "nvidia"
SYSTEM_NAMESPACE = "kube-system"  #: of Kubernetes itself, and of what keeps the cluster going

#: The node groups, by the name that ClusterStack.node_groups knows them by and that begins their own.
SYSTEM, GPU_SPOT, GPU_ON_DEMAND = "system", "gpu-spot", "gpu-on-demand"
POOL = "tessera/pool"  #: label of all nodes, with that name
SYSTEM_LABELS: Mapping[str, str] = {POOL: SYSTEM}

GPU = "nvidia.com/gpu"  #: the resource of a GPU, and the key of its nodes' taint
#: Set by every GPU node group. The autoscaler also knows by it that a fresh node may still be without its GPU.
GPU_LABELS: Mapping[str, str] = {"k8s.amazonaws.com/accelerator": "nvidia"}
GPU_TAINT: Mapping[str, str] = {"key": GPU, "value": "present", "effect": "NoSchedule"}
GPU_TOLERATIONS: tuple[Mapping[str, Any], ...] = ({"key": GPU, "operator": "Exists", "effect": "NoSchedule"},)

#: Kubernetes' own classes of priority, above all of ours.
NODE_CRITICAL, CLUSTER_CRITICAL = "system-node-critical", "system-cluster-critical"

#: A worker answers health and metrics there (`gpu_worker.health.server`).
WORKER_PORT = 8080
