"""Networks on the CPU: asked and answered in one call."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from gpu_worker.models.devices import device_errors
from gpu_worker.models.network import Network
from wsi.model_card import Activation, ModelCard
from wsi.plan import Numerics


class OnCpu:
    def __init__(self, network: Network) -> None:
        self._network = network

    @property
    def card(self) -> ModelCard:
        return self._network.card

    @property
    def last_step(self) -> Activation | None:
        return self._network.last_step

    def output(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """[n, height, width, 3] -> [n, columns], before the activation."""
        torch.set_num_threads(1)  # a few tiles; on busy cores two threads take four times as long
        with device_errors(len(pixels), self._network.device):
            return self._network.output(torch.from_numpy(pixels)).numpy()

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """[batch, height, width, 3] -> [batch, columns]. Raises ModelError, UnsuitableDevice."""
        self._network.check(numerics)
        torch.set_num_threads(numerics.threads)
        with device_errors(len(pixels), self._network.device):
            return self._network(torch.from_numpy(pixels)).numpy()
