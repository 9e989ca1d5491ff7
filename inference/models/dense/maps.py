"""The shape, the rounding and the errors of all networks' maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import ModelError, ModelFailed
from wsi.records.model_card import ModelCard

_FULL: Final = np.float32(255)


def convert_to_parts(chances: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return probabilities in whole parts of 255: the nearest, and of two the even one, as torch rounds."""
    return np.clip(np.rint(chances * _FULL), 0, _FULL).astype(np.uint8)


def check_map_shape(shape: Sequence[int], rows: int, card: ModelCard) -> None:
    """Raise ModelFailed unless the output has the card's maps, of the input's side, for each tile."""
    objects, side = card.objects, card.input_px
    assert objects is not None
    wanted = (rows, objects.maps, side, side)
    if tuple(shape) == wanted:
        return
    found = f"[{', '.join(map(str, shape))}] for {rows} tiles of {side} px"
    if tuple(shape) == (rows, side, side, objects.maps):
        raise ModelFailed(f"The network gives {found}, its maps last: transpose its output to {list(wanted)}.")
    if len(shape) == 4 and shape[1] == objects.maps:
        raise ModelFailed(
            f"The network gives {found}, maps of another side than its input: pad its convolutions, and enlarge its "
            "output to the input's side within the network."
        )
    classes = f"its card's {len(objects.classes)} classes ask for {objects.maps} maps"
    raise ModelFailed(f"The network gives {found}: {classes}, {list(wanted)}.")


def make_scores_error(card: ModelCard) -> ModelError:
    return ModelError(f"The model {card.name} gives maps in which objects are found, and no scores of tiles.")


def make_not_numbers_error(card: ModelCard) -> ModelFailed:
    return ModelFailed(
        "The network gives values that are not numbers: its weights hold some, are not those of this architecture, or "
        f"overflow in {card.precision}."
    )
