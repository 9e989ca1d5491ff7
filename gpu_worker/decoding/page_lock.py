"""Page-locked memory, which the GPU reads by itself while the CPU goes on."""

from __future__ import annotations

from typing import Any

import torch

from gpu_worker.decoding.jobs import Memory
from wsi.errors import DeviceLost


def page_locked(memory: Memory) -> None:
    """Locks all of it, which takes it from the machine too. It stays so until the process ends: whoever unmapped it
    while the device still copies would end both. Raises DeviceLost."""
    torch.cuda.init()
    runtime: Any = torch.cuda.cudart()
    failed = int(runtime.cudaHostRegister(memory.ctypes.data, memory.nbytes, 0))
    if failed:
        raise DeviceLost(f"The GPU's driver can not lock {memory.nbytes:,} bytes of memory (CUDA error {failed}).")
