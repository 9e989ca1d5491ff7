"""The limits of an installation: those that slides a day derive, and those that the stacks fix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adapters.settings.queues import WOKEN
from cdk.scale.load import Scale

#: As cdk/deployment.py, which needs the CDK's packages; a test compares them.
MOST_GPU_NODES = 450


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetLimits:
    """The most that may run at once."""

    gpu_workers: int
    spot_nodes: int
    on_demand_nodes: int
    heavy_workers: int
    gateway_requests: int  #: a second
    calls: Mapping[str, int] = field(default_factory=dict[str, int])  #: by queue


def derive_limits(slides_a_day: int, *, most_nodes: int = MOST_GPU_NODES) -> FleetLimits:
    """Return the limits that a deployment with `-c slides_per_day` has. `most_nodes`: of a node group."""
    scale = Scale(slides_a_day=slides_a_day)
    workers = min(most_nodes, scale.gpu_workers)
    return FleetLimits(
        gpu_workers=workers,
        spot_nodes=min(most_nodes, workers),
        on_demand_nodes=min(most_nodes, -(-workers // 5)),  # a fifth, as the quota of docs/how-to/deploy.md
        heavy_workers=scale.heavy_workers,
        gateway_requests=scale.request_rate,
        calls={queue: scale.compute_concurrency(queue) for queue in WOKEN},
    )
