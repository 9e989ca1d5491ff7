"""A model that is ready to run."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wsi.model_card import ModelCard
from wsi.plan import Numerics


class LoadedModel(Protocol):
    @property
    def card(self) -> ModelCard: ...

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """[batch, height, width, 3] RGB, px of the level as decoded -> [batch, columns of the card], activated.

        A row depends on its own pixels only, to the last bit, as long as batch size and threads (`numerics`) stay
        what they are.
        """
        ...
