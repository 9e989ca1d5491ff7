"""What a GPU has used, as its driver counts it: by NVML, the library that comes with the driver.

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


def energy_meter(uuid: str, *, load: Callable[[str], Any] = ctypes.CDLL) -> Callable[[], float] | None:
    """Joules of the device "GPU-…" since its driver was loaded; only differences mean something. None where there is
    no driver, no such device, or one that does not count. `load` opens the library."""
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

    def joules() -> float:
        nonlocal last
        counted = ctypes.c_ulonglong()
        status = library.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(counted))
        if status == _SUCCESS:
            last = counted.value / 1000
        else:  # a device that is lost; the worker finds out by itself
            log.warning("the driver does not say what the GPU used", extra={"status": status})
        return last

    return joules if joules() else None


def device_energy(device: str) -> Callable[[], float] | None:
    """Of a device as torch names it; None for a CPU."""
    if not device.startswith("cuda"):
        return None
    import torch  # a worker without a GPU needs none

    return energy_meter(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
