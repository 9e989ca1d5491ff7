"""The way from no GPU to the first scored tile: its parts, published or measured. A job that waits is told its expected
start by their sums; `benchmarks.cold_start` prints them for docs/explanation/scaling.md."""

from __future__ import annotations

from dataclasses import dataclass

IMAGE_GIGABYTES = 4.0  #: of layers in ECR (docs/decisions/0017)
PACKAGE_GIGABYTES = 1.2  #: ViT-L/16 in fp32

_DATA_ON_EKS = "[data-on-eks](https://github.com/awslabs/data-on-eks/tree/main/data-stacks/ray-on-eks/examples/gemma4-vllm-rayserve)"
_BLUEPRINT = (
    "[karpenter-blueprints](https://github.com/aws-samples/karpenter-blueprints/tree/main/blueprints/soci-snapshotter)"
)
_GPU_DELAY = "[autoscaler#9126](https://github.com/kubernetes/autoscaler/issues/9126)"
_MEASURED = "measured: H200, ViT-L/16 of random weights, 10 processes"


@dataclass(frozen=True, slots=True)
class ColdStartPart:
    name: str
    p50: float  #: s
    p90: float  #: s; of published numbers, of which there are two or three, the worst
    source: str


PARTS = (
    ColdStartPart("KEDA polls the queue", 8, 14, "arithmetic: every 15 s; SQS's count can lag by up to a minute more"),
    ColdStartPart("the autoscaler scans", 5, 9, "arithmetic: every 10 s"),
    ColdStartPart("the autoscaler waits, since the pod wants a GPU", 30, 30, f"constant in its source: {_GPU_DELAY}"),
    ColdStartPart(
        "node: request, boot, join, GPU offered",
        88,
        167,
        f"88: {_DATA_ON_EKS}, g6e.2xlarge with AL2023; 167: transcript of a workshop, 17 September 2026",
    ),
    ColdStartPart(
        "image: pull and unpack 4 GB",
        round(IMAGE_GIGABYTES / 0.180),
        round(IMAGE_GIGABYTES / 0.066),
        f"180 MB/s: {_BLUEPRINT}, AL2023; 66 MB/s: {_DATA_ON_EKS}; both with SOCI's parallel pull",
    ),
    ColdStartPart("process: imports", 10.9, 12.0, f"{_MEASURED} on a slow file system"),
    ColdStartPart("process: CUDA context", 0.3, 0.4, _MEASURED),
    ColdStartPart(
        "package: 1.2 GB from S3",
        round(PACKAGE_GIGABYTES / 0.190, 1),
        round(PACKAGE_GIGABYTES / 0.095, 1),
        f"190 MB/s: {_DATA_ON_EKS}, ten connections; half of it assumed at p90",
    ),
    ColdStartPart("model: load, check, record the graph", 6.4, 7.8, _MEASURED),
    ColdStartPart("first batch of 256 tiles", 1.0, 1.0, _MEASURED),
)


def sum_parts() -> tuple[float, float]:
    """Return the sum of the p50 and that of the p90, in s. The second is more than the p90 of the whole: parts are
    seldom slow together."""
    return sum(part.p50 for part in PARTS), sum(part.p90 for part in PARTS)
