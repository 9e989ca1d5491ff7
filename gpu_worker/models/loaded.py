"""A model that is ready to run."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

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
        what they are. The array is the caller's to keep. Raises ModelError, UnsuitableDevice, DeviceLost.
        """
        ...


class InFlight(Protocol):
    """A batch that the device works at."""

    def scores(self) -> NDArray[np.float32]:
        """[batch, columns], once the device is done: waits. To be asked once, in the order of the starts; the array is
        the caller's to keep. Raises ModelError, UnsuitableDevice, DeviceLost."""
        ...

    def quality(self) -> NDArray[np.float32]:
        """[batch, 4]: how the tiles look, as `wsi.quality.measure` has it; known after `scores`."""
        ...

    @property
    def seconds(self) -> float:
        """In the model, by the device's own clock; known after `scores`."""
        ...


@runtime_checkable
class Queueing(Protocol):
    """A model on a device that works beside the CPU, and measures there how the tiles look. `LoadedModel.infer` is
    `start(...).scores()`."""

    def start(self, pixels: NDArray[np.uint8], numerics: Numerics) -> InFlight:
        """Returns at once. `pixels` must stay as they are until the scores are there; in page-locked memory
        (`gpu_worker.decoding.page_lock`) the copy to the device runs beside the batch before. At most two batches may
        be in flight.
        """
        ...
