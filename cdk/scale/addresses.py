"""The addresses of the private subnets: how many the nodes take, and how many there are."""

from __future__ import annotations

from dataclasses import dataclass

#: Pods of a GPU node that have an address of their own: the worker, NVIDIA's device plugin, its DCGM exporter, EKS'
#: DCGM server, the log collector, and a pod that starts before its predecessor's address is free.
GPU_NODE_PODS = 6
#: Addresses that the network plugin (vpc-cni) takes as a node starts, and the free ones that it keeps. By its default
#: it keeps a free interface next to the one in use: 30 addresses a .2xlarge (15 an interface), most of them for nobody.
#: Ten suffice for all pods of a GPU node, so that the plugin asks EC2 once a node, in one call: its documents
#: warn of WARM_IP_TARGET in clusters whose pods make it ask often (amazon-vpc-cni-k8s, docs/eni-and-ip-target.md).
MINIMUM_IP_TARGET, WARM_IP_TARGET = 10, 2
GPU_NODE_ADDRESSES = 1 + max(MINIMUM_IP_TARGET, GPU_NODE_PODS + WARM_IP_TARGET)
#: An r7i.large: three interfaces of ten addresses, all in use.
SYSTEM_NODE_ADDRESSES = 30
#: For functions (one interface for each subnet and security group), the control plane, endpoints, and nodes that are
#: replaced while the old ones still end.
OTHER_ADDRESSES = 256
#: AWS keeps five of each subnet.
RESERVED_ADDRESSES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class AddressPlan:
    """One private subnet of `mask` bits a zone, and the nodes in them."""

    gpu_nodes: int
    system_nodes: int
    zones: int
    mask: int  #: length of a private subnet's prefix

    @property
    def needed(self) -> int:
        """Addresses that all nodes take at once, and the functions."""
        return self.gpu_nodes * GPU_NODE_ADDRESSES + self.system_nodes * SYSTEM_NODE_ADDRESSES + OTHER_ADDRESSES

    @property
    def available(self) -> int:
        """Addresses of all private subnets together. A zone can run out before: spot may have capacity in one only."""
        return self.zones * (2 ** (32 - self.mask) - RESERVED_ADDRESSES)

    @property
    def most_gpu_nodes(self) -> int:
        """GPU nodes for which there are addresses."""
        return (self.available - self.needed) // GPU_NODE_ADDRESSES + self.gpu_nodes

    @property
    def suffices(self) -> bool:
        return self.needed <= self.available
