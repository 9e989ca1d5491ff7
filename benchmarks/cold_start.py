"""The way from no GPU to the first scored tile: its parts, published or measured, and their sum.

`python -m benchmarks.cold_start` prints the table of docs/explanation/scaling.md. With `--measure FOLDER`, a package as
`benchmarks.model_loading` writes it, it measures the parts of the worker's process on this machine's GPU instead.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TARGET_SECONDS = 150
RUNS = 16

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


def make_table() -> str:
    """Return the table as Markdown."""
    rows = [(part.name, f"{part.p50:g}", f"{part.p90:g}", part.source) for part in PARTS]
    p50, p90 = sum_parts()
    rows.append(("**all**", f"**{p50:.0f}**", f"**{p90:.0f}**", f"target: {TARGET_SECONDS}"))
    lines = [f"| {' | '.join(row)} |" for row in (("part", "p50, s", "p90, s", "source"), ("---",) * 4, *rows)]
    return "\n".join(lines)


#: Of the measured process. What a worker does between its start and its first batch, without queue and database.
_STEPS = """
import json, sys, time
times = [time.perf_counter()]
import numpy as np
import torch
from pathlib import Path
from inference.models import architectures
from inference.models.execution.scoring import score_tiles
from inference.models.package import read_package
from inference.models.registry import load_model
times.append(time.perf_counter())
torch.zeros(1, device="cuda"); torch.cuda.synchronize()
times.append(time.perf_counter())
folder = Path(sys.argv[1])
model = load_model(read_package(folder), folder, "cuda")
times.append(time.perf_counter())
score_tiles(model, np.random.default_rng(0).integers(0, 255, (256, 224, 224, 3), np.uint8))
times.append(time.perf_counter())
print(json.dumps([end - begin for begin, end in zip(times, times[1:])]))
"""
STEPS = ("imports", "CUDA context", "load, check, record the graph", "first batch")


def measure_process(package: Path, runs: int = RUNS) -> list[list[float]]:
    """Return the seconds of each of STEPS, for as many fresh processes. The first may read from a cold disk."""
    command = (sys.executable, "-c", _STEPS, str(package))
    return [json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout) for _ in range(runs)]


def find_percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """Return p50 and p90."""
    return statistics.median(seconds), sorted(seconds)[round(0.9 * (len(seconds) - 1))]


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--measure", type=Path, metavar="FOLDER", help="a model package")
    package = given.parse_args().measure
    if package is None:
        print(make_table())
        return
    for step, seconds in zip(STEPS, zip(*measure_process(package), strict=True), strict=True):
        p50, p90 = find_percentiles(seconds)
        print(f"{step:<32}p50 {p50:6.2f} s  p90 {p90:6.2f} s")


if __name__ == "__main__":
    main()
