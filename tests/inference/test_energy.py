from __future__ import annotations

from typing import Any

import pytest

from adapters.settings import worker_metrics as names
from gpu_worker.health.metrics import ShardMetrics
from inference.energy import LIBRARY, find_meter

UUID = "GPU-8f2c1a90"


class Nvml:
    """The three functions of the driver's library, as C has them."""

    def __init__(self, counts: list[int | None], *, loaded: bool = True) -> None:
        self._counts = iter(counts)  #: mJ; None: the device does not answer
        self._loaded = loaded

    def nvmlInit_v2(self) -> int:
        return 0 if self._loaded else 9

    def nvmlDeviceGetHandleByUUID(self, uuid: bytes, device: Any) -> int:
        device._obj.value = 7
        return 0 if uuid == UUID.encode() else 6

    def nvmlDeviceGetTotalEnergyConsumption(self, device: Any, counted: Any) -> int:
        assert device.value == 7
        count = next(self._counts)
        if count is None:
            return 15
        counted._obj.value = count
        return 0


def test_what_the_driver_counts_is_told_in_joules():
    meter = find_meter(UUID, load=lambda _: Nvml([5_000, 2**40, 2**40 + 1_500]))
    assert meter is not None
    metrics = ShardMetrics(lambda: 0)
    metrics.count_energy(meter)
    for joules in (2**40 / 1000, 2**40 / 1000 + 1.5):
        (line,) = [
            line for line in metrics.format_metrics().decode().splitlines() if line.startswith(names.GPU_ENERGY_JOULES)
        ]
        assert float(line.split()[1]) == joules


def test_a_counter_never_goes_back_when_the_device_does_not_answer():
    meter = find_meter(UUID, load=lambda _: Nvml([5_000, 6_000, None]))
    assert meter is not None
    assert [meter(), meter()] == [6.0, 6.0]


@pytest.mark.parametrize(
    ("uuid", "library"),
    [(UUID, Nvml([5_000], loaded=False)), ("GPU-another", Nvml([5_000])), (UUID, Nvml([None]))],
    ids=["driver not loaded", "no such device", "does not count"],
)
def test_where_nothing_counts_nothing_is_told(uuid, library):
    assert find_meter(uuid, load=lambda _: library) is None


def test_a_machine_without_a_driver_has_no_meter():
    def missing(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    assert find_meter(UUID, load=missing) is None
    assert LIBRARY.endswith(".so.1")
