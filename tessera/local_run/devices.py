"""The devices that a model can run on, by the names that users give them."""

from __future__ import annotations

from enum import StrEnum


class Device(StrEnum):
    """One device."""

    CPU = "cpu"
    CUDA = "cuda"


class Devices(StrEnum):
    """One device, or all GPUs of the machine."""

    CPU = "cpu"
    CUDA = "cuda"
    CUDA_ALL = "cuda:all"

    @property
    def kind(self) -> str:
        """The kind of device, "cpu" or "cuda", without the number of them."""
        return "cpu" if self is Devices.CPU else "cuda"
