"""Reads the energy that a GPU has used from NVML, the library that comes with its driver.

https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html: nvmlDeviceGetTotalEnergyConsumption, in mJ since
the driver was loaded, from Volta on.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable
from typing import Any, Final

log = logging.getLogger(__name__)

LIBRARY: Final = "libnvidia-ml.so.1"
_SUCCESS: Final = 0


def find_meter(uuid: str, *, load: Callable[[str], Any] = ctypes.CDLL) -> Callable[[], float] | None:
    """Return a function that reads the joules of device "GPU-…" since its driver was loaded; only differences have a
    meaning. None if there is no driver or no such device, or if it does not count. `load` opens the library."""
    try:
        library = load(LIBRARY)
    except OSError:
        return None
    device = ctypes.c_void_p()
    if library.nvmlInit_v2() != _SUCCESS:
        return None
    if library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(device)) != _SUCCESS:
        return None
    last = 0.0

    def read_joules() -> float:
        nonlocal last
        counted = ctypes.c_ulonglong()
        status = library.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(counted))
        if status == _SUCCESS:
            last = counted.value / 1000
        else:  # the device is lost; the worker finds out by itself
            log.warning("the driver does not say what the GPU used", extra={"status": status})
        return last

    return read_joules if read_joules() else None


def find_device_meter(device: str) -> Callable[[], float] | None:
    """Return the energy meter of a device by its name in torch; None for a CPU."""
    if not device.startswith("cuda"):
        return None
    import torch  # a worker without a GPU needs none

    return find_meter(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
