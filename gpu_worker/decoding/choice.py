"""Which decoders suit a device."""

from __future__ import annotations

from typing import Final

from gpu_worker.decoding.jobs import Decoders
from gpu_worker.decoding.memory import private
from gpu_worker.decoding.processes import ProcessDecoders
from gpu_worker.decoding.threads import ThreadDecoders
from gpu_worker.stages.batch import RESERVED
from wsi.cores import available_cores

#: Bytes of batches under construction on a machine without a GPU: ten of 32 tiles of 256 px.
CPU_BUDGET: Final = 64 * 1024**2
#: For a GPU: thirteen batches of 256 boxes of 448 px, since all processes have tiles of two rows of boxes in work.
GPU_BUDGET: Final = 2048 * 1024**2
#: Threads, where the model takes the cores.
CPU_WORKERS: Final = 2
#: Cores that are left to the parent. Of 16 beside an H100, 15 decoders gave 3 to 5 % more than 14 where decoding holds
#: up the model, and nothing less elsewhere.
KEPT_CORES: Final = 1


def decoders_for(device: str, workers: int | None = None, *, isolated: bool = False) -> tuple[Decoders, int]:
    """The decoders, and the bytes of their memory that batches are to fill. `workers`: None for as many as suit.
    `isolated`: in processes on the CPU too."""
    if not device.startswith("cuda"):
        workers = workers or CPU_WORKERS
        decoders = ProcessDecoders(workers, RESERVED) if isolated else ThreadDecoders(workers, private(RESERVED))
        return decoders, CPU_BUDGET
    from gpu_worker.decoding.page_lock import page_locked  # loads torch

    decoders = ProcessDecoders(workers or beside_gpus(), max(RESERVED, GPU_BUDGET), whole=True)
    decoders.at_end(page_locked(decoders.memory))
    return decoders, GPU_BUDGET


def beside_gpus(gpus: int = 1, of: int | None = None) -> int:
    """Decoder processes of each of so many GPUs, whose own processes share the cores. `of`: how many these are, None
    for all that this process may use."""
    return max(1, (of or available_cores()) // gpus - KEPT_CORES)
