"""Lists the GPUs that this process may use, for a child process each.

It reads the driver's library and the environment, so that a parent that only assigns devices needs neither torch nor a
CUDA context.
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html and, for CUDA_VISIBLE_DEVICES,
https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from inference.decoder_choice import choose_decoders_per_gpu
from inference.energy import LIBRARY

ALL: Final = "cuda:all"
VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
NONE_HERE: Final = "This machine has no CUDA device that its driver knows: run with device cpu, or install the driver."
_SUCCESS: Final = 0
_UUID_BYTES: Final = 96  #: NVML_DEVICE_UUID_V2_BUFFER_SIZE


@dataclass(frozen=True, kw_only=True, slots=True)
class OneDevice:
    """The one device that a process may use."""

    title: str  #: for people, logs and metrics: "cuda:1", its index among those that may be used
    name: str  #: its name within its own process: "cuda" | "cpu"
    visible: str | None = None  #: CUDA_VISIBLE_DEVICES of its process; None: inherited

    def make_environ(self) -> dict[str, str]:
        """Return the variables that show its process this device alone."""
        return {VISIBLE: self.visible} if self.visible is not None else {}


def list_cuda_devices(
    environ: Mapping[str, str] = os.environ, *, load: Callable[[str], Any] = ctypes.CDLL
) -> tuple[OneDevice, ...]:
    """Return the CUDA devices; none without a driver.

    Entries of CUDA_VISIBLE_DEVICES, indices and UUIDs alike, are passed on as written, in their order; this is the only
    way to parts of a GPU (MIG). `load` opens the driver's library.
    """
    names = list(_list_uuids(load))
    if names and VISIBLE in environ:
        names = list(_parse_visible(environ[VISIBLE]))
    return tuple(
        OneDevice(title=f"cuda:{number}", name="cuda", visible=name) for number, name in enumerate(dict.fromkeys(names))
    )


def choose_decode_workers(devices: Sequence[OneDevice], stated: int | None) -> int | None:
    """Return the number of decoders for each device's process: `stated`, which is per device, or its share of the cores
    less what its process keeps. None: as many as suit, where models on the CPU take the cores."""
    if stated is not None or any(device.name == "cpu" for device in devices):
        return stated
    return choose_decoders_per_gpu(len(devices))


def _parse_visible(value: str) -> Iterator[str]:
    """Yield the entries, by CUDA's rule: those after an invalid one are not visible."""
    for entry in value.split(","):
        name = entry.strip()
        if not name or name.startswith("-"):
            return
        yield name


def _list_uuids(load: Callable[[str], Any]) -> Iterator[str]:
    """Yield the UUIDs of the driver's devices that this process may use."""
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
