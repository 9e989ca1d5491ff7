"""A package's network in ONNX that gives numbers: resize, normalise, forward, activation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.models.activations import apply_activation
from inference.models.checks.network_check import check_shape, choose_trial_rows
from inference.models.onnx.graph import check_graph, find_last_step
from inference.models.onnx.network import OnnxNetwork
from inference.models.onnx.preprocessing import OnnxPreprocessing, check_numerics, read_own_batch
from wsi.models.package_files import ONNX, ONNX_DATA
from wsi.planning.plan import Numerics
from wsi.records.model_card import ModelCard


class OnnxModel:
    def __init__(self, card: ModelCard, package: Path, device: str) -> None:
        """Load the network and try it. Raises ModelError if it is damaged, refused or unfit, or the device is
        missing."""
        self._card = card
        self._preprocessing = OnnxPreprocessing(card, device)
        self.last_step = find_last_step(check_graph(package / ONNX, ONNX_DATA))
        self._network = OnnxNetwork(package / ONNX, device)
        self._rows = read_own_batch(self._network.shape, card)
        self._try()

    @property
    def card(self) -> ModelCard:
        return self._card

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """Return the scores [batch, columns] of tiles [batch, height, width, 3]. A network with a fixed batch runs
        several of its own, the last one padded with zeros. Raises ModelError for a precision other than fp32."""
        check_numerics(numerics)
        return apply_activation(self._compute_output(pixels, numerics.threads), self._card.activation)

    def compute_output(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the output before the activation, [n, columns], of tiles [n, height, width, 3]."""
        return self._compute_output(pixels, 1)

    def _compute_output(self, pixels: NDArray[np.uint8], threads: int) -> NDArray[np.float32]:
        planes = self._preprocessing(pixels, threads)
        rows = self._rows or len(planes)
        pieces = [self._logits(planes[start : start + rows], rows, threads) for start in range(0, len(planes), rows)]
        return np.concatenate(pieces)

    def _logits(self, planes: NDArray[np.float32], rows: int, threads: int) -> NDArray[np.float32]:
        count = len(planes)
        if count < rows:
            planes = np.concatenate([planes, np.zeros((rows - count, *planes.shape[1:]), np.float32)])
        return self._network.run(planes, threads).reshape(rows, -1)[:count]

    def _try(self) -> None:
        """Run the network on zeros, so that an unfit one is found at loading and not in the third shard. There are
        several rows, since a network that gives one value for all of them fits no batch."""
        rows, side = self._rows or choose_trial_rows(self._card), self._card.input_px
        logits = self._network.run(np.zeros((rows, 3, side, side), np.float32), 1)
        check_shape(logits.shape, rows, self._card)
