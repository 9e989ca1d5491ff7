"""Devices of torch: their names and settings, and the meaning of their errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from inference.models.card.own_words import describe_error
from wsi.errors import DeviceLost, ModelError, ModelFailed, TesseraError, UnsuitableDevice

#: Errors that a process cannot recover from, by cudaGetErrorString, cuBLAS and cuDNN: the context of the device is
#: broken, or the device is. https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html
_LOST = re.compile(
    r"device-side assert|ECC error|uncorrectable|illegal memory access|illegal instruction|misaligned address"
    r"|unspecified launch failure|launch timed out|hardware stack error|invalid program counter|invalid address space"
    r"|GPU is lost|fallen off the bus|no CUDA-capable device|busy or unavailable|driver shutting down|unknown error"
    r"|contained error|external device|STATUS_EXECUTION_FAILED|STATUS_INTERNAL_ERROR",
    re.IGNORECASE,
)
#: Memory that is full outside of torch's own allocator, and GPUs older than the kernels.
_UNSUITABLE = re.compile(
    r"out of memory|not enough memory|can't allocate memory|STATUS_ALLOC_FAILED|CUBLAS_STATUS_NOT_INITIALIZED"
    r"|no kernel image is available",
    re.IGNORECASE,
)


def prepare_device(name: str) -> torch.device:
    """Return the device "cpu", "cuda" or "cuda:1", and set CUDA to reproducible kernels and full fp32. Raises
    ModelError for a device that is not there."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ModelError(f"There is no device {name!r}: name cpu or cuda.") from error
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ModelError("This machine has no CUDA device that torch can use: run with device cpu.")
        count = torch.cuda.device_count()
        if (device.index or 0) >= count:
            raise ModelError(f"This machine has {count} CUDA devices, numbered from 0: there is no {name}.")
        # The same kernels in every run, and fp32 that is fp32: TF32 keeps 10 bits of 23.
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
        # Sums of sixteen-bit products stay in fp32 until the end.
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    return device


def start_device(name: str) -> None:
    """Start the device, and load the libraries that most networks need: what comes later may no longer be allowed to.
    Raises as `prepare_device` does."""
    device = prepare_device(name)
    planes = torch.zeros(1, 3, 8, 8, device=device)
    with torch.inference_mode():
        torch.nn.functional.conv2d(planes, torch.zeros(4, 3, 3, 3, device=device))
        torch.nn.functional.linear(planes.reshape(1, -1), planes.reshape(1, -1))
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def give_back_memory() -> None:
    """Release the memory of the devices that torch caches, so that another process can have it."""
    torch.cuda.empty_cache()


@contextmanager
def translate_errors(batch: int, device: torch.device) -> Iterator[None]:
    """Raise errors of a network and its device as ours, with the original as the cause: a network is foreign code and
    may raise anything. `batch`: tiles that the device must hold."""
    try:
        yield
    except TesseraError:
        raise
    except Exception as error:
        raise translate_error(error, batch, device) from error


def translate_error(error: Exception, batch: int, device: torch.device) -> UnsuitableDevice | DeviceLost | ModelFailed:
    text = str(error)
    if isinstance(error, torch.OutOfMemoryError | MemoryError) or _UNSUITABLE.search(text):
        return UnsuitableDevice(
            f"This device cannot hold the model's batch of {batch} tiles: take one with more memory, or register the "
            "model with a smaller batch."
        )
    if device.type == "cuda" and _LOST.search(text):  # on a CPU the network asks for a device by name
        return DeviceLost("The device reports an error that only a new process can clear, mostly on another machine.")
    return ModelFailed(f"The network broke off: {describe_error(error)}.")
