"""The scores of all tiles of a plan, as every writer reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.given.objects import GivenObjects
from wsi.planning.plan import Plan
from wsi.results.features.feature_rows import FeatureRows
from wsi.results.objects.object_file import ObjectFile
from wsi.results.shard_result import AttemptMeasurements

CHUNK = 8192  #: tiles that are text at a time: about 4 MB of it


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredTiles:
    """All tiles of a plan with their scores. planned = inferred + unreadable."""

    plan: Plan
    inferred: NDArray[np.int32]  #: tile numbers, ascending
    scores: NDArray[np.float32]  #: [inferred, columns], finite
    unreadable: Mapping[int, str]  #: tile number -> reason, ascending
    features: FeatureRows | None = None  #: of an embedding: the vectors of the inferred tiles
    objects: ObjectFile | None = None  #: of a detection
    quality: NDArray[np.float32]  #: [inferred, 4] of `wsi.results.tile_quality`; NaN where nobody measured it
    measured: tuple[AttemptMeasurements, ...] = ()  #: of the shards that say it
    given: GivenObjects | None = None  #: that the tiles of such a plan are around

    def iterate_chunks(self, values: NDArray[np.float32]) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float32]]]:
        """Yield (tile numbers, their rows of `values`), ordered by x, then y."""
        for start in range(0, len(self.inferred), CHUNK):
            yield self.inferred[start : start + CHUNK], values[start : start + CHUNK]
