"""Scores of a few tiles, outside of a shard."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from inference.models.loaded import LoadedModel
from wsi.numerics import NUMERICS_VERSION
from wsi.planning.plan import Numerics


def score_tiles(
    model: LoadedModel,
    tiles: NDArray[np.uint8],
    *,
    threads: int = 1,
    seconds: float = math.inf,
    on_tiles: Callable[[int], None] = lambda _: None,
) -> NDArray[np.float32]:
    """Return the scores [n, columns] of tiles [n, height, width, 3], in the card's batches, the last one padded. After
    `seconds` no further batch is begun, and the remaining tiles have no row. `on_tiles` gets the number of tiles of
    each batch."""
    card = model.card
    numerics = Numerics(version=NUMERICS_VERSION, precision=card.precision, batch=card.batch, threads=threads)
    began, rows = time.perf_counter(), [np.empty((0, card.width), np.float32)]
    for start in range(0, len(tiles), card.batch):
        if start and time.perf_counter() - began > seconds:
            break
        part = tiles[start : start + card.batch]
        pixels = np.zeros((card.batch, *tiles.shape[1:]), np.uint8)
        pixels[: len(part)] = part
        rows.append(model.infer(pixels, numerics)[: len(part)])
        on_tiles(len(part))
    return np.concatenate(rows)
