"""The epithelium and lumen network of lavlab-shell 0.9.1 (MIT, the LaViolette lab), a SegResNet in ONNX.

A segmentation: each pixel has logits for inner (lumen, and any other clear glass), outer (epithelium) and background.
The scores of a tile are the share of each in its area. The network normalises over the whole of its input, so that
a tile's size is part of the model: 1,024 px at 1 um, the patch of its own code, one tile at a time.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.models.builtin.whole_pixels import WholePixels
from inference.models.onnx.graph import check_graph
from inference.models.onnx.network import OnnxNetwork
from wsi.errors import ModelError
from wsi.planning.plan import Numerics
from wsi.planning.stains import Stains, compute_stain_planes
from wsi.records.model_card import ModelCard

COLUMNS = ("epithelium_fraction", "lumen_or_glass_fraction")
#: Of `wheels.EPITHELIUM`.
GRAPH, DATA = "model_v1.onnx", "model_v1.onnx.data"
#: Channels of the output.
INNER, OUTER, BACKGROUND = range(3)


class Epithelium:
    """Share of epithelium and of lumen in the area of each box."""

    def __init__(self, card: ModelCard, package: Path, device: str) -> None:
        """Load the network. `package` holds the files of `wheels.EPITHELIUM`. Raises ModelError, UnsuitableDevice."""
        if tuple(column.name for column in card.columns) != COLUMNS:
            raise ModelError(f"The card of {card.name} names other columns than {', '.join(COLUMNS)}.")
        self._card = card
        check_graph(package / GRAPH, DATA)
        self._network = OnnxNetwork(package / GRAPH, device)
        self._resize = WholePixels(card, device)

    @property
    def card(self) -> ModelCard:
        return self._card

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """Return the shares [batch, 2] of epithelium and lumen in tiles [batch, height, width, 3], with the stains that
        the plan pins. Raises ModelError for a plan without them."""
        if numerics.stains is None:
            raise ModelError("The plan holds no stains of its slide, which this model needs: ask for the job again.")
        return np.stack([self._fractions(tile[None], numerics.stains, numerics.threads) for tile in pixels])

    def _fractions(self, tile: NDArray[np.uint8], stains: Stains, threads: int) -> NDArray[np.float32]:
        planes = compute_stain_planes(self._resize(tile, threads), stains)
        inner, outer, background = self._network.run(planes, threads)[0]
        # A sigmoid above a half is a logit above 0. Where both are found, its own label map takes epithelium.
        epithelium = (outer > 0) & (outer > background)
        lumen = (inner > 0) & (inner > background) & ~epithelium
        return np.array([epithelium.mean(), lumen.mean()], np.float32)
