"""Page-locked memory, which the GPU reads by itself while the CPU does other work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from inference.decoding.decode_tasks import Memory
from wsi.errors import DeviceLost


def lock_pages(memory: Memory) -> Callable[[], None]:
    """Lock all pages of the memory, which makes the machine provide them too, and return a function that unlocks them.

    Call that function once no copy is under way any more, and before the memory is unmapped. Raises DeviceLost.
    """
    torch.cuda.init()
    runtime: Any = torch.cuda.cudart()
    address = memory.ctypes.data
    failed = int(runtime.cudaHostRegister(address, memory.nbytes, 0))
    if failed:
        raise DeviceLost(f"The GPU's driver cannot lock {memory.nbytes:,} bytes of memory (CUDA error {failed}).")
    return lambda: runtime.cudaHostUnregister(address)
