"""A model that is ready to run."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wsi.planning.plan import Numerics
from wsi.records.model_card import ModelCard


class LoadedModel(Protocol):
    @property
    def card(self) -> ModelCard: ...

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """Return the activated scores, [batch, columns of the card], of [batch, height, width, 3] RGB, px of the level
        as decoded.

        A row depends on its own pixels only, to the last bit, as long as batch size and threads (`numerics`) stay the
        same. The caller may keep the array. Raises ModelError, UnsuitableDevice, DeviceLost.
        """
        ...


@runtime_checkable
class DenseModel(LoadedModel, Protocol):
    """A model whose card has `objects`: it gives maps in place of scores, and its `infer` raises ModelError."""

    def infer_maps(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.uint8]:
        """Return the maps, [batch, maps of the card, input_px, input_px], probabilities in parts of 255, of
        [batch, height, width, 3] RGB, px of the level as decoded. As `LoadedModel.infer` else."""
        ...


class InFlight(Protocol):
    """A batch that the device is computing."""

    def wait_for_scores(self) -> NDArray[np.float32]:
        """Wait until the device is done, and return the scores, [batch, columns]. Call this once, in the order of the
        starts; the caller may keep the array. Raises ModelError, UnsuitableDevice, DeviceLost."""
        ...

    def get_quality(self) -> NDArray[np.float32]:
        """Return the tile quality, [batch, 4], of `wsi.results.tile_quality.measure`; known after `wait_for_scores`."""
        ...

    @property
    def seconds(self) -> float:
        """Seconds in the model, by the device's own clock; known after `wait_for_scores`."""
        ...


@runtime_checkable
class Queueing(Protocol):
    """A model on a device that computes in parallel with the CPU and also measures tile quality. `LoadedModel.infer` is
    `start(...).scores()`."""

    @property
    def depth(self) -> int:
        """Batches that may be in flight at once: more, and the device waits for nothing; fewer, and they take less
        memory."""
        ...

    def start(self, pixels: NDArray[np.uint8], numerics: Numerics) -> InFlight:
        """Start a batch and return at once. `pixels` must not change until the scores are there. From page-locked
        memory (`inference.decoding.page_lock`) the copy to the device runs in parallel with the batch before.
        """
        ...


class MapsInFlight(Protocol):
    """A batch whose maps the device is computing."""

    def wait_for_maps(self) -> None:
        """Wait until the maps are where they were asked for. Raises ModelError, UnsuitableDevice, DeviceLost, again at
        each further call."""
        ...

    @property
    def seconds(self) -> float:
        """Seconds in the model, by the device's own clock; known after `wait_for_maps`."""
        ...


@runtime_checkable
class QueueingMaps(Protocol):
    """A `DenseModel` on a device that computes in parallel with the CPU."""

    def start_maps(self, pixels: NDArray[np.uint8], maps: NDArray[np.uint8], numerics: Numerics) -> MapsInFlight:
        """Start a batch and return at once. The device writes into `maps` what `infer_maps` returns for `pixels`; until
        it is done, both must be left alone. With page-locked memory it copies by itself, as with `Queueing.start`."""
        ...
