"""What a shard took, for the summary: seconds, reads, and the machine that did it."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from wsi.shard_result import Measured, ShardResult
from wsi.slide.reads import Reads


def measuring(reads: Reads, device: str) -> Callable[[ShardResult], ShardResult]:
    """Call it when the work on a shard begins; what it gives back puts the measurement on the finished result."""
    began, requests, size = time.monotonic(), reads.requests, reads.bytes

    def measured(result: ShardResult) -> ShardResult:
        took = Measured(
            seconds=round(time.monotonic() - began, 3),
            requests=reads.requests - requests,
            bytes=reads.bytes - size,
            hardware=hardware(device),
        )
        return replace(result, measured=took)

    return measured


def hardware(device: str) -> str:
    """The name of the device that runs the model: "NVIDIA L4", "AMD EPYC"."""
    if device.startswith("cuda"):
        import torch  # a worker without a GPU, and one whose models are numpy, needs none

        return torch.cuda.get_device_name(device)
    return _processor() or platform.machine()


def _processor() -> str | None:
    """Linux says it nowhere else: `platform.processor()` is empty there."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        return None
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else None
