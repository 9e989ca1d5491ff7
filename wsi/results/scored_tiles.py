"""The scores of all tiles of a plan, as every writer takes them, and their one form as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.plan import Plan
from wsi.shard_result import Measured

CHUNK = 8192  #: tiles that are text at a time: about 4 MB of it


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredTiles:
    """planned = inferred + unreadable."""

    plan: Plan
    inferred: NDArray[np.int32]  #: tile numbers, ascending
    scores: NDArray[np.float32]  #: [inferred, columns], finite
    unreadable: Mapping[int, str]  #: tile number -> reason, ascending
    measured: tuple[Measured, ...] = ()  #: of the shards that say it

    def rows(self) -> Iterator[tuple[int, int, int, list[str]]]:
        """(tile number, x, y, scores as text) of the inferred tiles, ordered by x, then y.

        A score's text is the shortest that reads back as the same float32, so that equal scores are equal bytes.
        """
        for start in range(0, len(self.inferred), CHUNK):
            numbers = self.inferred[start : start + CHUNK]
            # + 0.0 turns -0.0 into 0.0.
            texts: list[list[str]] = (self.scores[start : start + CHUNK] + np.float32(0.0)).astype(np.str_).tolist()
            origins: list[list[int]] = self.plan.tiles[numbers].tolist()
            for number, (x, y), text in zip(numbers.tolist(), origins, texts, strict=True):
                yield number, x, y, text
