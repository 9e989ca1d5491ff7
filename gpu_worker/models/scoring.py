"""Scores of a few tiles, outside of a shard."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_worker.models.loaded import LoadedModel
from wsi.numerics import NUMERICS_VERSION
from wsi.plan import Numerics


def scores_of(model: LoadedModel, tiles: NDArray[np.uint8]) -> NDArray[np.float32]:
    """[n, height, width, 3] -> [n, columns], in the card's batches, the last one padded."""
    card = model.card
    numerics = Numerics(version=NUMERICS_VERSION, precision=card.precision, batch=card.batch, threads=1)
    scores = np.empty((len(tiles), len(card.columns)), np.float32)
    for start in range(0, len(tiles), card.batch):
        part = tiles[start : start + card.batch]
        pixels = np.zeros((card.batch, *tiles.shape[1:]), np.uint8)
        pixels[: len(part)] = part
        scores[start : start + len(part)] = model.infer(pixels, numerics)[: len(part)]
    return scores
