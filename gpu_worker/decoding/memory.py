"""Memory that batches lie in: reserved whole, taken from the machine page by page as it is first written to."""

from __future__ import annotations

import mmap
import os

import numpy as np

from gpu_worker.decoding.jobs import Memory


def private(size: int) -> Memory:
    """[size] bytes of this process."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    return np.frombuffer(mmap.mmap(-1, size, flags=flags), np.uint8)


def shared(size: int) -> tuple[int, Memory]:
    """(descriptor, [size] bytes) that other processes can map. Unlike /dev/shm, which a container mostly gets 64 MB of,
    it is bounded by the process's memory alone. Raises OSError where there is none (it is Linux's)."""
    descriptor = os.memfd_create("tessera-batches")
    os.ftruncate(descriptor, size)
    return descriptor, np.frombuffer(mmap.mmap(descriptor, size), np.uint8)
