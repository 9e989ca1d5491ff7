"""Chooses the decoders that suit a device."""

from __future__ import annotations

from typing import Final

from inference.decoding.decode_tasks import Decoders
from inference.decoding.memory import allocate_private, can_share
from inference.decoding.processes import ProcessDecoders
from inference.decoding.threads import ThreadDecoders
from inference.stages.batch import RESERVED
from wsi.cores import count_available_cores

#: Bytes of batches under construction without a GPU: ten batches of 32 tiles of 256 px.
CPU_BUDGET: Final = 64 * 1024**2
#: The same for a GPU: thirteen batches of 256 boxes of 448 px, since all processes together decode tiles of two rows of
#: boxes at a time.
GPU_BUDGET: Final = 2048 * 1024**2
#: Decoder threads next to a model on the CPU, which takes the cores.
CPU_WORKERS: Final = 2
#: Cores that are left to the parent. Of 16 next to an H100, 15 decoders gave 3 to 5 % more than 14 where decoding is
#: the bottleneck, and nothing less elsewhere.
KEPT_CORES: Final = 1


def choose_decoders(device: str, workers: int | None = None, *, isolated: bool = False) -> tuple[Decoders, int]:
    """Make the decoders for a device. Return them and the bytes of their memory that batches may fill.

    `workers`: None for as many as suit. `isolated`: use processes on the CPU too. Where memory cannot be shared with
    other processes, threads decode.
    """
    if not device.startswith("cuda"):
        workers = workers or CPU_WORKERS
        if isolated and can_share():
            return ProcessDecoders(workers, RESERVED), CPU_BUDGET
        return ThreadDecoders(workers, allocate_private(RESERVED)), CPU_BUDGET
    from inference.decoding.page_lock import lock_pages  # loads torch

    workers, size = workers or choose_decoders_per_gpu(), max(RESERVED, GPU_BUDGET)
    if not can_share():
        return ThreadDecoders(workers, allocate_private(size)), GPU_BUDGET
    decoders = ProcessDecoders(workers, size, whole=True)
    decoders.run_at_close(lock_pages(decoders.memory))
    return decoders, GPU_BUDGET


def choose_decoders_per_gpu(gpus: int = 1, of: int | None = None) -> int:
    """Return the number of decoder processes for each of `gpus` GPUs that share the cores. `of`: the number of cores;
    None for all that this process may use."""
    return max(1, (of or count_available_cores()) // gpus - KEPT_CORES)
