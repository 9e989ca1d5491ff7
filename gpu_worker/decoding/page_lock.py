"""Page-locked memory, which the GPU reads by itself while the CPU goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from gpu_worker.decoding.jobs import Memory
from wsi.errors import DeviceLost


def page_locked(memory: Memory) -> Callable[[], None]:
    """Locks all of it, which takes it from the machine too, until what it gives back is called: when no copy is under
    way any more, and before the memory is unmapped. Raises DeviceLost."""
    torch.cuda.init()
    runtime: Any = torch.cuda.cudart()
    address = memory.ctypes.data
    failed = int(runtime.cudaHostRegister(address, memory.nbytes, 0))
    if failed:
        raise DeviceLost(f"The GPU's driver can not lock {memory.nbytes:,} bytes of memory (CUDA error {failed}).")
    return lambda: runtime.cudaHostUnregister(address)
