"""Resizes tiles to a network's side in whole grey values, for networks that take amounts of stain, which are computed
of 8-bit colours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inference.models.onnx.input import make_input_graph
from inference.models.onnx.network import OnnxNetwork
from wsi.records.model_card import ModelCard


class WholePixels:
    """[batch, height, width, 3] uint8 to [batch, input_px, input_px, 3] uint8."""

    def __init__(self, card: ModelCard, device: str) -> None:
        self._card = card
        self._device = device
        self._inputs: dict[tuple[int, int], OnnxNetwork] = {}

    def __call__(self, pixels: NDArray[np.uint8], threads: int) -> NDArray[np.uint8]:
        height, width = pixels.shape[1:3]
        if height == width == self._card.input_px:
            return pixels
        if (height, width) not in self._inputs:
            self._inputs[height, width] = OnnxNetwork(make_input_graph(self._card, height, width), self._device)
        planes = self._inputs[height, width].run(pixels, threads)
        return np.rint(planes * 255).astype(np.uint8).transpose(0, 2, 3, 1)
