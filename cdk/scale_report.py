"""The derived numbers as a table of a few lines, and the quotas that an account must have for them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from adapters.settings.queues import WOKEN
from cdk.cluster.node_groups import GPU_DISK, SYSTEM_DISK
from cdk.deployment import MOST_GPU_NODES, Deployment

GPU_NODE_PROCESSORS = 8  #: of a .2xlarge, as the presets choose
WORKERS_A_FALLBACK = 5  #: for one that shall run on demand when spot has no capacity (docs/how-to/deploy.md)


@dataclass(frozen=True, slots=True)
class Quota:
    """A quota of an account in a region (Service Quotas, 2026)."""

    name: str
    code: str
    default: int  #: of an account that exists for a while; new ones often have less, and 0 for GPUs
    needed: int

    @property
    def must_be_raised(self) -> bool:
        return self.needed > self.default


def count_fallback_workers(deployment: Deployment, workers: int) -> int:
    """Return how many of the workers shall run on demand when spot has no capacity."""
    return math.ceil(workers / WORKERS_A_FALLBACK) if deployment.uses_on_demand_gpus else 0


def list_quotas(deployment: Deployment) -> tuple[Quota, ...]:
    """Return the quotas that grow with the load."""
    scale, workers = deployment.scale, deployment.max_gpu_workers
    if workers == MOST_GPU_NODES:  # the group's own limit; the quota is the first step beyond it
        workers = max(workers, scale.gpu_workers)
    on_demand = count_fallback_workers(deployment, workers)
    disks = workers * GPU_DISK + scale.system_nodes * SYSTEM_DISK
    return (
        Quota("EC2: All G and VT Spot Instance Requests, vCPUs", "L-3819A6DF", 0, workers * GPU_NODE_PROCESSORS),
        Quota("EC2: Running On-Demand G and VT instances, vCPUs", "L-DB2E81BA", 0, on_demand * GPU_NODE_PROCESSORS),
        Quota("EKS: Nodes per managed node group", "L-BD136A63", 450, workers),
        Quota("EBS: Storage for gp3 volumes, TiB", "L-7A658B76", 50, math.ceil(disks / 1_024)),
        Quota("Lambda: Concurrent executions", "L-B99A9384", 1_000, scale.lambda_concurrency),
        Quota("API Gateway: Throttle rate, requests a second", "L-8A5B8E43", 10_000, scale.request_rate),
    )


def make_report(deployment: Deployment) -> str:
    """Return the table that a synth prints, a line for each derived number."""
    scale = deployment.scale
    lines = [f"{scale.slides_a_day:,} slides a day, {scale.peak_slides_a_second * 3600:,.0f} in the busiest hour:"]
    lines += [f"  {name:<50}{value}" for name, value in _list_rows(deployment)]
    return "\n".join(lines)


def _list_rows(deployment: Deployment) -> Iterator[tuple[str, str]]:
    scale, addresses = deployment.scale, deployment.addresses
    calls = ", ".join(f"{woken.name} {scale.compute_concurrency(queue)}" for queue, woken in WOKEN.items())
    yield "GPU workers, of those that the load asks for", f"{deployment.max_gpu_workers:,} of {scale.gpu_workers:,}"
    yield "heavy workers; system nodes for them", f"{scale.heavy_workers:,}; {scale.system_nodes:,}"
    yield "calls at once", calls
    yield "rows that the relay sends, a second", f"{scale.outbox_rows_a_second:.1f}"
    yield "gateway, requests a second; burst", f"{scale.request_rate:,}; {scale.request_burst:,}"
    yield "begun by one credential, a minute", f"{scale.beginning_limit:,}"
    yield "addresses of the private subnets", f"{addresses.needed:,} of {addresses.available:,}"
    yield "budget, dollars a month", f"{deployment.monthly_budget_dollars:,}"
    for quota in list_quotas(deployment):
        if quota.must_be_raised:
            yield f"quota {quota.code}", f"{quota.needed:,} ({quota.name})"
