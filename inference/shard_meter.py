"""Measures what a shard cost, for the summary: seconds, reads, and the hardware that computed it."""

from __future__ import annotations

import platform
import time
from dataclasses import replace
from pathlib import Path

from wsi.results.shard_result import AttemptMeasurements, ShardResult
from wsi.slide.reads import ReadCounter


class ShardMeter:
    """Measures the shards of one slide. A shard is fetched while the one before is still in the model: requests, bytes
    and seconds between the ends of two shards count for the second one, so that nothing counts twice."""

    def __init__(self, reads: ReadCounter, device: str) -> None:
        self._reads = reads
        self._device = device
        self._requests, self._bytes, self._at = reads.requests, reads.bytes, time.monotonic()

    def stop(self, result: ShardResult, *, began: float) -> ShardResult:
        """Return the finished result with its measurement. `began`: `time.monotonic` when its work began."""
        now, requests, size = time.monotonic(), self._reads.requests, self._reads.bytes
        measured = AttemptMeasurements(
            seconds=round(now - max(began, self._at), 3),
            requests=requests - self._requests,
            bytes=size - self._bytes,
            hardware=describe_hardware(self._device),
        )
        self._requests, self._bytes, self._at = requests, size, now
        return replace(result, measured=measured)


def describe_hardware(device: str) -> str:
    """Return the name of the device that runs the model: "NVIDIA L4", "AMD EPYC"."""
    if device.startswith("cuda"):
        import torch  # a worker without a GPU, and one whose models are numpy, needs none

        return torch.cuda.get_device_name(device)
    return _processor_name() or platform.machine()


def _processor_name() -> str | None:
    """Return the CPU's name on Linux, where `platform.processor()` is empty."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        return None
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else None
