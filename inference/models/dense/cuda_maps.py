"""Torch networks that give maps, on a CUDA device: batches are queued, so that the next one is computed while objects
are looked for in the last one's maps.

There is no CUDA graph: a batch takes the device tens of milliseconds, and launching its kernels a few hundred
microseconds of the CPU meanwhile.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from inference.models.dense.maps import make_not_numbers_error
from inference.models.dense.torch_maps import TorchMaps, convert_to_bytes
from inference.models.execution.cuda import get_lane
from inference.models.execution.devices import translate_errors
from inference.models.loaded import MapsInFlight
from inference.models.network import Network
from wsi.planning.plan import Numerics
from wsi.records.model_card import ModelCard


class MapsOnCuda(TorchMaps):
    """A `DenseModel`, and `QueueingMaps`."""

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self._lane = get_lane(network.device)

    def infer_maps(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.uint8]:
        """Return the maps as `DenseModel` has them. Raises ModelError, UnsuitableDevice, DeviceLost."""
        assert self.card.objects is not None
        side = self.card.input_px
        maps = np.empty((len(pixels), self.card.objects.maps, side, side), np.uint8)
        self.start_maps(pixels, maps, numerics).wait_for_maps()
        return maps

    def start_maps(self, pixels: NDArray[np.uint8], maps: NDArray[np.uint8], numerics: Numerics) -> MapsInFlight:
        """Start a batch as `QueueingMaps.start_maps` does."""
        self._network.check(numerics)
        device, copying, computing = self._network.device, self._lane.copying, self._lane.computing
        began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True, blocking=True)
        with translate_errors(len(pixels), device), torch.inference_mode(), self._lane.lock:
            with torch.cuda.stream(copying):  # in parallel with the batch before
                given = torch.from_numpy(pixels).to(device, non_blocking=True)
            computing.wait_stream(copying)
            given.record_stream(computing)
            with torch.cuda.stream(computing):
                began.record(computing)
                chances = self._network(given)
                are_numbers = torch.empty((), dtype=torch.bool, pin_memory=True)
                are_numbers.copy_(torch.isfinite(chances).all(), non_blocking=True)
                torch.from_numpy(maps).copy_(convert_to_bytes(chances), non_blocking=True)
                ended.record(computing)
        return _QueuedMaps(self.card, device, pixels, maps, are_numbers, began, ended)


class _QueuedMaps:
    def __init__(
        self,
        card: ModelCard,
        device: torch.device,
        pixels: NDArray[np.uint8],
        maps: NDArray[np.uint8],
        are_numbers: torch.Tensor,
        began: torch.cuda.Event,
        ended: torch.cuda.Event,
    ) -> None:
        self._card = card
        self._device = device
        self._held = pixels, maps  #: until the device has read and written them
        self._are_numbers = are_numbers
        self._began = began
        self._ended = ended

    def wait_for_maps(self) -> None:
        """Wait for the maps. It sleeps and does not spin: the cores belong to the decoders."""
        with translate_errors(len(self._held[0]), self._device):
            self._ended.synchronize()
        if not self._are_numbers.item():
            raise make_not_numbers_error(self._card)

    @property
    def seconds(self) -> float:
        return self._began.elapsed_time(self._ended) / 1000
