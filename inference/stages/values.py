"""The values that pass from stage to stage: Begun, Fetched, FetchDone -> (rows decoded in memory) -> Slot -> Outputs,
Ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from inference.decoding.decode_tasks import MapRows, Rows
from inference.shard_task import ShardTask
from wsi.objects.found import FoundObjects
from wsi.slide.encoded import EncodedTiles
from wsi.slide.placement import Placement


@dataclass(frozen=True, slots=True)
class Begun:
    """The start of a placement, whose tiles follow."""

    task: ShardTask
    placement: Placement
    tiles: NDArray[np.int32]  #: [boxes] tile number of the plan of each of the placement's boxes


@dataclass(frozen=True, slots=True)
class Fetched:
    """The next file tiles of the placement begun last."""

    task: ShardTask
    encoded: EncodedTiles


@dataclass(frozen=True, slots=True)
class FetchDone:
    """The end of fetching: all of a task was fetched, or it was cancelled, or `error` ended it."""

    task: ShardTask
    error: Exception | None = None


@dataclass(eq=False, slots=True)
class Slot:
    """A batch under construction, or a full one: consecutive rows of the memory."""

    rows: Rows  #: of all slots, as read
    model_rows: Rows  #: of all slots, as the model gets them: `rows`, or those that boxes are resampled into
    map_rows: MapRows | None  #: of all slots, what the model gives, where that is maps
    first: int  #: row of the memory that this one begins at
    size: int  #: rows, the batch size of the shape
    tiles: NDArray[np.int32]  #: [size] tile numbers of the plan; -1: padding
    owner: NDArray[np.int32]  #: [size] index into `tasks`
    tasks: list[ShardTask] = field(default_factory=list[ShardTask])
    used: int = 0  #: rows assigned to a tile
    closed: bool = False  #: no row will be added
    outstanding: int = 0  #: pieces of its rows that are not yet decoded
    broken: dict[int, dict[int, str]] = field(default_factory=dict[int, dict[int, str]])  #: row -> file tile -> why

    def describe_failure(self, row: int) -> str:
        """Return why the row is unreadable, naming every broken file tile of it."""
        return "; ".join(f"file tile {tile}: {why}" for tile, why in sorted(self.broken[row].items()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Outputs:
    """The outputs of one batch for one task."""

    task: ShardTask
    tiles: NDArray[np.int32]  #: [n] tile numbers of the plan
    scores: NDArray[np.float32]  #: [n, columns of the card]
    quality: NDArray[np.float32]  #: [n, 4] of `wsi.results.tile_quality`
    objects: tuple[FoundObjects, ...] = ()  #: of a detection: what the window of each of `tiles` gave
    unreadable: Mapping[int, str]  #: tile number -> reason
    padded: int  #: rows of the batch computed for nothing; counted once, for the batch's first task
    seconds: float  #: in the model, by the task's share of the batch
    began: float  #: when the batch was handed to the model, by this process's clock
    ended: float  #: when its scores were there

    @property
    def count(self) -> int:
        """Return the number of tiles, inferred and unreadable."""
        return len(self.tiles) + len(self.unreadable)


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a task, after its last outputs: all are there, it was stopped, or `error` ended it."""

    task: ShardTask
    error: Exception | None = None
