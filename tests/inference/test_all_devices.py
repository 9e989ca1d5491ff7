"""Which GPUs there are, asked of the driver's library and of CUDA_VISIBLE_DEVICES."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from inference.all_devices import OneDevice, choose_decode_workers, list_cuda_devices
from inference.decoder_choice import choose_decoders_per_gpu


class Nvml:
    """The four functions of the driver's library, as C has them. None: a device that this container may not use."""

    def __init__(self, *uuids: str | None, loaded: bool = True) -> None:
        self._uuids = uuids
        self._loaded = loaded

    def nvmlInit_v2(self) -> int:
        return 0 if self._loaded else 9

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        count._obj.value = len(self._uuids)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, device: Any) -> int:
        device._obj.value = index.value + 1
        return 0 if self._uuids[index.value] else 4

    def nvmlDeviceGetUUID(self, device: Any, text: Any, size: Any) -> int:
        uuid = self._uuids[device.value - 1]
        assert uuid is not None
        assert size.value > len(uuid)
        text.value = uuid.encode()
        return 0


def visible(environ: dict[str, str], library: Any) -> list[str | None]:
    return [device.visible for device in list_cuda_devices(environ, load=lambda _: library)]


def test_each_gpu_is_named_by_its_uuid_and_numbered_as_the_driver_does() -> None:
    devices = list_cuda_devices({}, load=lambda _: Nvml("GPU-a", None, "GPU-c"))
    assert devices == (
        OneDevice(title="cuda:0", name="cuda", visible="GPU-a"),
        OneDevice(title="cuda:1", name="cuda", visible="GPU-c"),
    )
    assert devices[1].make_environ() == {"CUDA_VISIBLE_DEVICES": "GPU-c"}


@pytest.mark.parametrize(
    ("stated", "names"),
    [
        ("1", ["1"]),
        ("1,0", ["1", "0"]),
        ("GPU-b, MIG-c", ["GPU-b", "MIG-c"]),
        ("0,-1,1", ["0"]),
        ("0,,1", ["0"]),
        ("0,0", ["0"]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", ["NoDevFiles"]),
    ],
)
def test_devices_that_are_stated_are_handed_on_as_they_are_written(stated: str, names: list[str]) -> None:
    assert visible({"CUDA_VISIBLE_DEVICES": stated}, Nvml("GPU-a", "GPU-b")) == names


def no_driver(name: str) -> Any:
    raise OSError(name)


def test_without_a_driver_or_a_device_there_is_none_whatever_is_stated() -> None:
    stated = {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert list_cuda_devices(stated, load=no_driver) == ()
    assert visible(stated, Nvml(loaded=False)) == []
    assert visible(stated, Nvml()) == []


def test_the_cores_are_divided_among_gpus_and_what_is_stated_is_for_each() -> None:
    gpus = [OneDevice(title=f"cuda:{number}", name="cuda") for number in range(2)]
    assert choose_decode_workers(gpus, None) == choose_decoders_per_gpu(2)
    assert choose_decode_workers(gpus, 7) == 7
    assert choose_decode_workers([OneDevice(title="cpu:0", name="cpu")], None) is None


@pytest.mark.parametrize(("of", "gpus", "each"), [(16, 1, 15), (32, 2, 15), (8, 8, 1), (2, 2, 1), (1, 4, 1)])
def test_each_gpu_has_its_share_of_the_cores_but_one_and_never_none(of: int, gpus: int, each: int) -> None:
    assert choose_decoders_per_gpu(gpus, of) == each


@pytest.mark.gpu
def test_the_driver_and_torch_see_the_same_gpus() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    assert len(list_cuda_devices()) == torch.cuda.device_count()
    program = "import torch; print(torch.cuda.device_count(), torch.cuda.get_device_properties(0).uuid)"
    for device in list_cuda_devices(
        {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    ):
        said = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **device.make_environ()},
            capture_output=True,
            text=True,
            check=True,
        )
        assert said.stdout.split() == ["1", (device.visible or "").removeprefix("GPU-")]
