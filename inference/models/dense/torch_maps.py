"""Torch networks that give maps, on their device: sigmoid and rounding happen there too, so that a quarter of the bytes
come back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from inference.models.dense.maps import make_not_numbers_error, make_scores_error
from inference.models.execution.cuda import get_lane
from inference.models.execution.devices import translate_errors
from inference.models.network import Network
from wsi.planning.plan import Numerics
from wsi.records.model_card import Activation, ModelCard

_FULL: Final = 255


class TorchMaps:
    """A `DenseModel`."""

    def __init__(self, network: Network) -> None:
        self._network = network

    @property
    def card(self) -> ModelCard:
        return self._network.card

    @property
    def last_step(self) -> Activation | None:
        return self._network.last_step

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """Raise ModelError, since this model gives maps."""
        raise make_scores_error(self.card)

    def infer_maps(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.uint8]:
        """Return the maps as `DenseModel` has them. Raises ModelError, UnsuitableDevice, DeviceLost."""
        self._network.check(numerics)
        if self._network.device.type == "cpu":
            torch.set_num_threads(numerics.threads)
        with self._turn(len(pixels)):
            chances = self._network(torch.from_numpy(pixels).to(self._network.device))
            if not torch.isfinite(chances).all():
                raise make_not_numbers_error(self.card)
            return convert_to_bytes(chances).cpu().numpy()

    def compute_map_output(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the output before the activation, [n, maps, input_px, input_px], of tiles [n, height, width, 3]."""
        if self._network.device.type == "cpu":
            torch.set_num_threads(1)  # a few tiles; on busy cores two threads take four times as long
        with self._turn(len(pixels)):
            return self._network.compute_output(torch.from_numpy(pixels).to(self._network.device)).cpu().numpy()

    @contextmanager
    def _turn(self, batch: int) -> Iterator[None]:
        """Run the block without gradients, and while no other thread queues work on the device."""
        device = self._network.device
        with translate_errors(batch, device), torch.inference_mode():
            if device.type != "cuda":
                yield
                return
            with get_lane(device).lock:
                yield


def convert_to_bytes(chances: torch.Tensor) -> torch.Tensor:
    """Return probabilities in whole parts of 255, as `inference.models.dense.maps.convert_to_parts` does. The tensor is
    written over."""
    return chances.mul_(_FULL).round_().clamp_(0, _FULL).to(torch.uint8)
