"""A slide on its path through the simulated platform."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from wsi.planning.shards import compute_shard_offsets, compute_shard_size


@dataclass(eq=False, slots=True)
class SimulatedSlide:
    """A slide and its one job. Times are in s since midnight."""

    number: int
    uploaded: float
    tiles: int
    is_heavy: bool = False
    inspected: float | None = None
    planned: float | None = None
    computed: float | None = None  #: the last shard's commit
    done: float | None = None
    shards_left: int = 0

    @property
    def seconds(self) -> float:
        """The time from the upload's end to the results. Raises ValueError before that."""
        if self.done is None:
            raise ValueError("the slide has no results yet")
        return self.done - self.uploaded


def split_tiles(tiles: int, tiles_a_second: float, shard_tiles: int | None = None) -> list[int]:
    """Return the tiles of each shard, as the planner cuts them."""
    offsets = compute_shard_offsets(tiles, compute_shard_size(tiles_a_second, shard_tiles))
    return [end - begin for begin, end in pairwise(offsets)]
