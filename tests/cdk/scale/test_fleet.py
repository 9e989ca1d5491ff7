"""Numbers of the simulated fleet that are the stacks' own, which it does not import."""

from __future__ import annotations

import benchmarks.fleet.limits
from benchmarks.fleet.costs import FUNCTION_GIB
from cdk.deployment import MOST_GPU_NODES, Deployment
from cdk.scale_report import count_fallback_workers
from tests.cdk.api.test_functions import function
from tests.cdk.templates import Templates


def test_a_node_group_has_the_same_limit() -> None:
    assert benchmarks.fleet.limits.MOST_GPU_NODES == MOST_GPU_NODES


def test_functions_have_the_same_memory(templates: Templates) -> None:
    for name, gib in FUNCTION_GIB.items():
        assert function(templates, name)["Properties"]["MemorySize"] == gib * 1_024


def test_limits_are_the_deployments() -> None:
    for slides in (10, 1_000, 100_000):
        deployment = Deployment.from_context({"environment": "prod", "slides_per_day": slides})
        limits = benchmarks.fleet.limits.derive_limits(slides)
        assert limits.gpu_workers == deployment.max_gpu_workers
        assert limits.on_demand_nodes == count_fallback_workers(deployment, deployment.max_gpu_workers)
