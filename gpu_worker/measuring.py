"""What a shard took, for the summary: seconds, reads, and the machine that did it."""

from __future__ import annotations

import platform
import time
from dataclasses import replace
from pathlib import Path

from wsi.shard_result import Measured, ShardResult
from wsi.slide.reads import Reads


class Measuring:
    """Of the shards of one slide, of which the next is fetched while the last is still in the model: what is read or
    takes place between the ends of two is the second one's, so that nothing counts twice."""

    def __init__(self, reads: Reads, device: str) -> None:
        self._reads = reads
        self._device = device
        self._requests, self._bytes, self._at = reads.requests, reads.bytes, time.monotonic()

    def measured(self, result: ShardResult, begun: float) -> ShardResult:
        """The finished result with its measurement. `begun`: when the work on it began, by `time.monotonic`."""
        now, requests, size = time.monotonic(), self._reads.requests, self._reads.bytes
        took = Measured(
            seconds=round(now - max(begun, self._at), 3),
            requests=requests - self._requests,
            bytes=size - self._bytes,
            hardware=hardware(self._device),
        )
        self._requests, self._bytes, self._at = requests, size, now
        return replace(result, measured=took)


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
