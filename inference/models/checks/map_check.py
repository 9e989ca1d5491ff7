"""Checks of a network that gives maps, by running it: the checks of `network_check`, of its maps."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from inference.models.activations import apply_activation
from inference.models.checks.network_check import EXPORT, RANDOM, ROUNDING, SAME, make_tiles
from inference.models.checks.receptive_field import InspectableMaps
from inference.models.checks.tolerance import Difference
from inference.models.dense.maps import make_not_numbers_error
from inference.models.loaded import DenseModel
from wsi.errors import ModelFailed
from wsi.numerics import NUMERICS_VERSION
from wsi.planning.plan import Numerics
from wsi.records.model_card import Activation

_FULL: Final = 255
MOST_TILES: Final = 16  #: that are compared: a tile's maps are megabytes


def check_maps(model: InspectableMaps) -> None:
    """Check the network on three synthetic tiles, alone and in a batch: the cheap check, at each loading. Raises
    ModelFailed with what is wrong and how to fix it, UnsuitableDevice, DeviceLost."""
    card = model.card
    tiles = np.stack(make_tiles(card.tile_px))
    output = model.compute_map_output(tiles)
    if not np.isfinite(output).all():
        raise make_not_numbers_error(card)
    if model.last_step is card.activation is not Activation.NONE:
        raise ModelFailed(
            f'The network ends with a {card.activation} and its card adds another one: write "activation": "none" into '
            "card.json."
        )
    low, high = float(output.min()), float(output.max())
    if card.activation is Activation.NONE and not -ROUNDING <= low <= high <= 1 + ROUNDING:
        raise ModelFailed(
            f"The network gives {low:.3g} to {high:.3g} where its card says no activation, whose maps are "
            'probabilities: write "sigmoid" as activation.'
        )
    if model.compute_map_output(tiles).tobytes() != output.tobytes():
        raise ModelFailed(RANDOM)
    if all((each == output[0]).all() for each in output[1:]):
        raise ModelFailed(SAME)
    alone = model.compute_map_output(tiles[:1])
    apart = np.abs(apply_activation(alone, card.activation) - apply_activation(output[:1], card.activation)).max()
    if not apart <= card.tolerance.max_difference:
        raise ModelFailed(
            f"A tile's maps depend on the other tiles of its batch: they differ by up to {apart:.2g}. A batch "
            f"normalisation is in training mode; {EXPORT}."
        )


def compare_maps(model: DenseModel, other: DenseModel, tiles: NDArray[np.uint8], *, threads: int = 1) -> Difference:
    """Compare the maps of two models for tiles [n, height, width, 3], n > 0, in parts of 1, tile by tile. No more than
    MOST_TILES are compared."""
    highest, sums = 0, 0.0
    tiles = tiles[:MOST_TILES]
    for tile in tiles:
        maps, reference = (compute_maps(each, tile[None], threads=threads) for each in (model, other))
        apart = np.abs(maps.astype(np.int16) - reference)
        highest = max(highest, int(apart.max()))
        sums += float(apart.mean())
    return Difference(
        tiles=len(tiles), max_difference=highest / _FULL, mean_difference=sums / len(tiles) / _FULL, top1_changes=0
    )


def compute_maps(model: DenseModel, tiles: NDArray[np.uint8], *, threads: int = 1) -> NDArray[np.uint8]:
    """Return the maps of tiles [n, height, width, 3], in one batch, outside of a shard."""
    numerics = Numerics(
        version=NUMERICS_VERSION, precision=model.card.precision, batch=len(tiles), threads=threads, stains=None
    )
    return model.infer_maps(np.ascontiguousarray(tiles), numerics)
