"""The nucleus detector of napari-czann-segment 0.1.2 (BSD-3-Clause; ZEISS, made with APEER), a U-Net in ONNX.

It was trained on fluorescence at 20x. Here it gets the amount of haematoxylin in place of fluorescence, enlarged until
nuclei are as large as those that it learned from: 0.15625 um per px. Its own pipeline scales each picture by its 99th
percentile. Of a tile that would depend on what lies in it, so that one nucleus got other values in other tiles; here
the range of the slide's haematoxylin is that which the plan pins (`wsi.planning.stains`).

Squeeze and excitation in its encoder look at the whole tile, which is part of the model for that reason: 1,024 px.
Where tiles begin still shows in the objects. On real tissue, probabilities 128 px and more from a tile's border
differed by up to 0.09 in tiles 256 px apart, and by 0.002 on average; by 0.33 nearer to it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from inference.models.builtin.whole_pixels import WholePixels
from inference.models.dense.maps import convert_to_parts, make_scores_error
from inference.models.onnx.graph import check_graph
from inference.models.onnx.network import OnnxNetwork
from wsi.errors import ModelError
from wsi.planning.plan import Numerics
from wsi.planning.stains import compute_stain_planes
from wsi.records.model_card import ModelCard

GRAPH: Final = "nuclei-zeiss.onnx"  #: of `wheels.NUCLEI_ZEISS`
_HAEMATOXYLIN: Final = 1  #: of the planes of `compute_stain_planes`
_NUCLEUS: Final = 1  #: of the network's two classes


class NucleiZeiss:
    """A `DenseModel`: the probability of a nucleus is the depth within one too, since the network gives no other."""

    def __init__(self, card: ModelCard, package: Path, device: str) -> None:
        """Load the network. `package` holds the files of `wheels.NUCLEI_ZEISS`. Raises ModelError, UnsuitableDevice."""
        self._card = card
        check_graph(package / GRAPH, "")
        self._network = OnnxNetwork(package / GRAPH, device)
        self._resize = WholePixels(card, device)

    @property
    def card(self) -> ModelCard:
        return self._card

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """Raise ModelError, since this model gives maps."""
        raise make_scores_error(self._card)

    def infer_maps(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.uint8]:
        """Return the maps as `DenseModel` has them, with the stains that the plan pins. Raises ModelError for a plan
        without them, UnsuitableDevice."""
        if numerics.stains is None:
            raise ModelError("The plan holds no stains of its slide, which this model needs: ask for the job again.")
        chances: list[NDArray[np.uint8]] = []
        for tile in pixels:
            planes = compute_stain_planes(self._resize(tile[None], numerics.threads), numerics.stains)
            stain = np.ascontiguousarray(planes[:, _HAEMATOXYLIN, :, :, None])
            chances.append(convert_to_parts(self._network.run(stain, numerics.threads)[0, :, :, _NUCLEUS]))
        found = np.stack(chances)
        return np.stack([found, found], axis=1)
