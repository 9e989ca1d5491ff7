"""Several models over the same tiles as one: what is read and decoded once serves all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inference.models.loaded import InFlight, LoadedModel, Queueing
from wsi.planning.plan import Numerics, Plan
from wsi.records.model_card import ModelCard, OutputColumn, OutputKind
from wsi.records.stain_normalisation import StainNormalisation

#: Tiles of a batch of all models: one that each model's own batches divide.
MOST_TILES = 512


@dataclass(frozen=True, slots=True)
class SharedTiles:
    """The properties of a plan that decide which px its model gets."""

    grid: object
    tiles: bytes
    order: bytes
    edge_fill: str
    resampled: tuple[int, str] | None  #: input_px and resize, where decoders resample boxes
    version: str  #: of preprocessing and codecs

    @staticmethod
    def of(plan: Plan) -> SharedTiles | None:
        """Return those of the plan; None for a model that gives maps, whose windows are its own."""
        card = plan.card
        if card.objects is not None:
            return None
        resampled = (card.input_px, card.resize.value) if plan.grid.fractions else None
        tiles, order = plan.tiles.tobytes(), plan.order.tobytes()
        return SharedTiles(plan.grid, tiles, order, card.edge_fill.value, resampled, plan.numerics.version)


def compute_common_batch(plans: Sequence[Plan]) -> int | None:
    """Return the least batch that each plan's batch divides; None if it has more than `MOST_TILES`."""
    common = math.lcm(*(plan.numerics.batch for plan in plans))
    return common if common <= MOST_TILES else None


def join_plans(plans: Sequence[Plan], batch: int) -> Plan:
    """Return a plan for all of these, whose scores are theirs side by side. It is for the engine alone: no file holds
    it."""
    lead = plans[0]
    width = sum(plan.card.width for plan in plans)
    nothing: StainNormalisation | None = None
    card = replace(
        lead.card,
        name="+".join(plan.card.name for plan in plans),
        output=OutputKind.REGRESSION,
        embedding=None,
        stain_normalisation=nothing,
        columns=tuple(OutputColumn(name=str(number)) for number in range(width)),
    )
    return replace(lead, card=card, numerics=replace(lead.numerics, batch=batch))


class ModelsTogether:
    """A `LoadedModel` of several. Each gets its own batches with its own numerics, so that its numbers are those that
    it gives alone."""

    def __init__(self, card: ModelCard, models: Sequence[LoadedModel], numerics: Sequence[Numerics]) -> None:
        """Take the card of `join_plans`, the models, and the numerics of their plans."""
        self.card = card
        self._models = tuple(zip(models, numerics, strict=True))

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """Return [batch, columns of all models]. Raises what any of them raises."""
        return np.concatenate(
            [
                np.concatenate([model.infer(part, own) for part in _split(pixels, own.batch)])
                for model, own in self._models
            ],
            axis=1,
        )


class QueuedTogether(ModelsTogether):
    """Models on one device, each `Queueing`."""

    def __init__(self, card: ModelCard, models: Sequence[Queueing], numerics: Sequence[Numerics]) -> None:
        super().__init__(card, models, numerics)  # pyright: ignore[reportArgumentType]
        self._queueing = tuple(zip(models, numerics, strict=True))

    @property
    def depth(self) -> int:
        """Return 2: the batch in the models, and the next one."""
        return 2

    def start(self, pixels: NDArray[np.uint8], numerics: Numerics) -> InFlight:
        """Start a batch in each model as `Queueing.start` does."""
        return _StartedTogether(
            [[model.start(part, own) for part in _split(pixels, own.batch)] for model, own in self._queueing]
        )


class _StartedTogether:
    def __init__(self, started: Sequence[Sequence[InFlight]]) -> None:
        self._started = started  #: by model, in the order of its starts

    def wait_for_scores(self) -> NDArray[np.float32]:
        parts = [np.concatenate([part.wait_for_scores() for part in model]) for model in self._started]
        return np.concatenate(parts, axis=1)

    def get_quality(self) -> NDArray[np.float32]:
        return np.concatenate([part.get_quality() for part in self._started[0]])

    @property
    def seconds(self) -> float:
        return sum(part.seconds for model in self._started for part in model)


def make_model_of(card: ModelCard, models: Sequence[LoadedModel], numerics: Sequence[Numerics]) -> LoadedModel:
    """Return all models as one."""
    queueing = [model for model in models if isinstance(model, Queueing)]
    if len(queueing) == len(models):
        return QueuedTogether(card, queueing, numerics)
    return ModelsTogether(card, models, numerics)


def _split(pixels: NDArray[np.uint8], batch: int) -> list[NDArray[np.uint8]]:
    return [pixels[start : start + batch] for start in range(0, len(pixels), batch)]
