"""Networks on the CPU: each batch is computed within the call."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from inference.models.execution.devices import translate_errors
from inference.models.network import Network
from wsi.planning.plan import Numerics
from wsi.records.model_card import Activation, ModelCard


class OnCpu:
    def __init__(self, network: Network) -> None:
        self._network = network

    @property
    def card(self) -> ModelCard:
        return self._network.card

    @property
    def last_step(self) -> Activation | None:
        return self._network.last_step

    def compute_output(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the output before the activation, [n, columns], of tiles [n, height, width, 3]."""
        torch.set_num_threads(1)  # a few tiles; on busy cores two threads take four times as long
        with translate_errors(len(pixels), self._network.device):
            return self._network.compute_output(torch.from_numpy(pixels)).numpy()

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """Return the scores [batch, columns] of tiles [batch, height, width, 3]. Raises ModelError,
        UnsuitableDevice."""
        self._network.check(numerics)
        torch.set_num_threads(numerics.threads)
        with translate_errors(len(pixels), self._network.device):
            return self._network(torch.from_numpy(pixels)).numpy()
