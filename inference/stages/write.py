"""Write: collects outputs into the shard's result, which is also what a checkpoint holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inference.stages.values import Outputs
from wsi.errors import ModelFailed
from wsi.objects.found import FoundObjects
from wsi.planning.plan import Plan
from wsi.records.model_card import ModelCard
from wsi.results.shard_result import Numbers, ShardResult, get_float_type
from wsi.results.tile_quality import make_unmeasured


class ResultWriter:
    """Collects a shard's tiles, from those of a checkpoint (or none) to all of them."""

    def __init__(self, plan: Plan, resume: ShardResult | None) -> None:
        self._plan_digest = plan.digest
        self._card = plan.card
        self._tiles: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
        self._scores: list[Numbers] = [np.empty((0, plan.card.width), get_float_type(plan.card))]
        self._quality: list[NDArray[np.float32]] = [make_unmeasured()]
        objects = plan.card.objects
        self._objects = None if objects is None else [FoundObjects.make_empty(objects.maps - 1)]
        self._unreadable: dict[int, str] = {}
        self.done = 0  #: tiles, inferred and unreadable
        if resume is not None:
            self._tiles.append(resume.tiles)
            self._scores.append(resume.scores)
            self._quality.append(resume.quality if resume.quality is not None else make_unmeasured(len(resume.tiles)))
            if self._objects is not None and resume.objects is not None:
                self._objects.append(resume.objects)
            self._unreadable.update(resume.unreadable)
            self.done = resume.done

    def add(self, outputs: Outputs) -> None:
        """Take in the outputs of one batch. Raises ModelFailed for numbers that the card's `stored` cannot hold."""
        self._tiles.append(outputs.tiles)
        self._scores.append(convert_numbers(outputs.scores, self._card))
        self._quality.append(outputs.quality)
        if self._objects is not None:
            self._objects += outputs.objects
        self._unreadable.update(outputs.unreadable)
        self.done += outputs.count

    def build_result(self) -> ShardResult:
        """Return all tiles so far by number: the bytes do not depend on their order or on the number of attempts."""
        tiles = np.concatenate(self._tiles)
        order = np.argsort(tiles, kind="stable")
        return ShardResult(
            plan_digest=self._plan_digest,
            tiles=tiles[order],
            scores=np.concatenate(self._scores)[order],
            quality=np.concatenate(self._quality)[order],
            objects=None if self._objects is None else FoundObjects.join(self._objects),
            unreadable=dict(sorted(self._unreadable.items())),
        )


def convert_numbers(scores: NDArray[np.float32], card: ModelCard) -> Numbers:
    """Return the numbers as a shard's result holds them. Raises ModelFailed for some that the card's `stored` cannot
    hold."""
    kind = get_float_type(card)
    if kind is np.float16 and (np.abs(scores) > np.finfo(np.float16).max).any():
        raise ModelFailed("The model gives numbers beyond 65,504, which fp16 cannot hold: store its vectors as fp32.")
    return scores.astype(kind, copy=False)
