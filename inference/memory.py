"""Reads the machine's memory, and that of processes."""

from __future__ import annotations

import mmap
import os
import re
import sys
from pathlib import Path
from typing import Final

#: The limit that a container has: https://docs.kernel.org/admin-guide/cgroup-v2.html#memory, and version 1's file.
_LIMITS: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_PEAK: Final = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


def read_machine_bytes() -> int:
    """Return the bytes of memory that the machine has, or that its container may take of them."""
    all_of_it = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([all_of_it, *(limit for path in _LIMITS if (limit := _limit(path)) is not None)])


def read_peak_bytes() -> int:
    """Return the peak memory of this process in bytes. Without /proc it is that of `getrusage`: the larger of this and
    the parent's peak when it started this process (exec keeps it)."""
    try:
        found = _PEAK.search(Path("/proc/self/status").read_text())
    except OSError:
        found = None
    if found is not None:
        return int(found[1]) * 1024
    import resource  # Windows has none

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def read_usage(device: str) -> tuple[int, int | None]:
    """Return the peak memory of this process, and what it took at most of the device, in bytes; None for "cpu"."""
    if not device.startswith("cuda"):
        return read_peak_bytes(), None
    import torch

    return read_peak_bytes(), torch.cuda.max_memory_reserved(device)


def read_process_bytes(process: int | None) -> int:
    """Return the bytes in use by a process; 0 if the system does not report them, or the process has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * mmap.PAGESIZE
    except (OSError, IndexError):
        return 0


def _limit(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # "max"
        return None
