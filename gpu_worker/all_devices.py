"""The GPUs that this process may use, each for a process of its own.

The driver's library and the environment are asked: who only hands devices out loads no torch and holds no context.
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html and, for CUDA_VISIBLE_DEVICES,
https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gpu_worker.decoding.choice import beside_gpus
from gpu_worker.energy import LIBRARY

ALL: Final = "cuda:all"
VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
NONE_HERE: Final = "This machine has no CUDA device that its driver knows: run with device cpu, or install the driver."
_SUCCESS: Final = 0
_UUID_BYTES: Final = 96  #: NVML_DEVICE_UUID_V2_BUFFER_SIZE


@dataclass(frozen=True, kw_only=True, slots=True)
class OneDevice:
    """That a process sees, and no other."""

    title: str  #: for people, logs and metrics: "cuda:1", its place among those that may be used
    name: str  #: what its own process calls it: "cuda" | "cpu"
    visible: str | None = None  #: CUDA_VISIBLE_DEVICES of its process; None: as it is here

    def environ(self) -> dict[str, str]:
        return {VISIBLE: self.visible} if self.visible is not None else {}


def cuda_devices(
    environ: Mapping[str, str] = os.environ, *, load: Callable[[str], Any] = ctypes.CDLL
) -> tuple[OneDevice, ...]:
    """None without a driver. What CUDA_VISIBLE_DEVICES names is handed on as it stands there, indices and UUIDs alike,
    in its order; parts of a GPU (MIG) are found by no other way. `load` opens the driver's library."""
    names = list(_uuids(load))
    if names and VISIBLE in environ:
        names = list(_stated(environ[VISIBLE]))
    return tuple(
        OneDevice(title=f"cuda:{number}", name="cuda", visible=name) for number, name in enumerate(dict.fromkeys(names))
    )


def decode_workers(devices: Sequence[OneDevice], stated: int | None) -> int | None:
    """Decoders of each device's process: those `stated`, which are a device's, or its share of the cores less what its
    process keeps. None: as many as suit, where models take the cores themselves."""
    if stated is not None or any(device.name == "cpu" for device in devices):
        return stated
    return beside_gpus(len(devices))


def _stated(value: str) -> Iterator[str]:
    """CUDA's rule: what stands behind a device that is none is not seen."""
    for entry in value.split(","):
        name = entry.strip()
        if not name or name.startswith("-"):
            return
        yield name


def _uuids(load: Callable[[str], Any]) -> Iterator[str]:
    try:
        library = load(LIBRARY)
    except OSError:
        return
    count = ctypes.c_uint()
    if library.nvmlInit_v2() != _SUCCESS or library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != _SUCCESS:
        return
    for index in range(count.value):
        device, uuid = ctypes.c_void_p(), ctypes.create_string_buffer(_UUID_BYTES)
        # A device that a container may not use is counted and has no handle.
        if library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(device)) != _SUCCESS:
            continue
        if library.nvmlDeviceGetUUID(device, uuid, ctypes.c_uint(_UUID_BYTES)) == _SUCCESS:
            yield uuid.value.decode()
