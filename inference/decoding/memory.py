"""Memory that holds batches: reserved as a whole, provided by the machine page by page at the first write."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from typing import Final

import numpy as np

from inference.decoding.decode_tasks import Memory

_POPULATE_WRITE: Final = 23  #: MADV_POPULATE_WRITE of madvise(2), which `mmap` has no name for


def allocate_private(size: int) -> Memory:
    """Return [size] bytes for this process alone."""
    if not hasattr(mmap, "MAP_ANONYMOUS"):  # Windows
        return np.frombuffer(mmap.mmap(-1, size), np.uint8)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    return np.frombuffer(mmap.mmap(-1, size, flags=flags), np.uint8)


def can_share() -> bool:
    """Return whether memory can be shared with other processes by its descriptor, as on Linux."""
    return hasattr(os, "memfd_create")


def allocate_shared(size: int) -> tuple[int, Memory]:
    """Return (descriptor, [size] bytes) that other processes can map.

    Unlike /dev/shm, of which a container mostly gets 64 MB, it is bounded by the process's memory alone. Raises OSError
    on systems other than Linux.
    """
    descriptor = os.memfd_create("tessera-batches")
    os.ftruncate(descriptor, size)
    return descriptor, map_shared(descriptor, size)


def allocate_sealed(size: int) -> tuple[int, Memory]:
    """Return (descriptor, [size] bytes) as `allocate_shared` does, of a size that nobody can change: this process would
    be killed at the first read of a page that another one cut off. Raises OSError on systems other than Linux."""
    import fcntl  # Windows has none

    descriptor = os.memfd_create("tessera-batch", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return descriptor, map_shared(descriptor, size)


def map_shared(descriptor: int, size: int, *, whole: bool = False) -> Memory:
    """Map [size] bytes of `allocate_shared` into this process.

    `whole`: provide and map all pages now. Otherwise each page costs the first write of each process 1.2 us: 280 us for
    a box of 448 px, next to 880 us of decoding it (2 cores, Linux 6.18).
    """
    memory = mmap.mmap(descriptor, size)
    if whole:
        with suppress(OSError):  # older than Linux 5.14: page by page
            memory.madvise(_POPULATE_WRITE)
    return np.frombuffer(memory, np.uint8)
