"""The number of cores that this process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Final

#: The limit that a container has: https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu, and version 1's two files.
_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")
_QUOTA_1: Final = Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
_PERIOD_1: Final = Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us")


def count_available_cores() -> int:
    """Return the number of cores that the scheduler and the container's limit leave to this process, at least 1. A
    limit of one and a half cores counts as two."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _read_quota()
    return cores if quota is None else max(1, min(cores, math.ceil(quota)))


def parse_quota(text: str) -> float | None:
    """Return the number of cores that the text "quota period" (microseconds) allows, or None for no limit."""
    try:
        quota, period = (float(part) for part in text.split())
    except ValueError:  # "max 100000"
        return None
    return quota / period if quota > 0 and period > 0 else None


def _read_quota() -> float | None:
    try:
        return parse_quota(_QUOTA.read_text())
    except OSError:
        pass
    try:
        return parse_quota(f"{_QUOTA_1.read_text()} {_PERIOD_1.read_text()}")
    except OSError:
        return None
