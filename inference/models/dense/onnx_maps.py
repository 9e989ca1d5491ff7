"""Networks in ONNX that give maps. Tiles run one after the other, or in the network's own fixed batch: a map of 1,024
px takes much memory and fills the cores by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.models.activations import apply_activation
from inference.models.dense.maps import check_map_shape, convert_to_parts, make_not_numbers_error, make_scores_error
from inference.models.onnx.graph import check_graph, find_last_step
from inference.models.onnx.network import OnnxNetwork
from inference.models.onnx.preprocessing import OnnxPreprocessing, check_numerics, read_own_batch
from wsi.planning.plan import Numerics
from wsi.records.model_card import ModelCard


class OnnxMaps:
    """A `DenseModel`."""

    def __init__(self, card: ModelCard, graph: Path, device: str, *, data_name: str = "") -> None:
        """Load the network and try it. Its weights may be in the file `data_name` next to the graph. Raises ModelError
        if it is damaged, refused or unfit, or the device is missing; UnsuitableDevice."""
        self._card = card
        self._preprocessing = OnnxPreprocessing(card, device)
        self.last_step = find_last_step(check_graph(graph, data_name))
        self._network = OnnxNetwork(graph, device)
        self._rows = read_own_batch(self._network.shape, card) or 1
        side = card.input_px
        found = self._network.run(np.zeros((self._rows, 3, side, side), np.float32), 1)
        check_map_shape(found.shape, self._rows, card)

    @property
    def card(self) -> ModelCard:
        return self._card

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """Raise ModelError, since this model gives maps."""
        raise make_scores_error(self._card)

    def infer_maps(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.uint8]:
        """Return the maps as `DenseModel` has them. Raises ModelError, UnsuitableDevice."""
        check_numerics(numerics)
        return np.concatenate(
            [self._round(self._forward(part, numerics.threads)) for part in self._split(pixels)], dtype=np.uint8
        )

    def compute_map_output(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the output before the activation, [n, maps, input_px, input_px], of tiles [n, height, width, 3]."""
        return np.concatenate([self._forward(part, 1) for part in self._split(pixels)])

    def _split(self, pixels: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
        return [pixels[start : start + self._rows] for start in range(0, len(pixels), self._rows)]

    def _forward(self, pixels: NDArray[np.uint8], threads: int) -> NDArray[np.float32]:
        planes, count = self._preprocessing(pixels, threads), len(pixels)
        if count < self._rows:
            planes = np.concatenate([planes, np.zeros((self._rows - count, *planes.shape[1:]), np.float32)])
        return self._network.run(planes, threads)[:count]

    def _round(self, output: NDArray[np.float32]) -> NDArray[np.uint8]:
        chances = apply_activation(output, self._card.activation)
        if not np.isfinite(chances).all():
            raise make_not_numbers_error(self._card)
        return convert_to_parts(chances)
