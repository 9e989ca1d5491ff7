"""What travels from stage to stage: Begun, Fetched, Sent -> (rows decoded in memory) -> Slot -> Outputs, Ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gpu_worker.decoding.jobs import Rows
from gpu_worker.work import Work
from wsi.slide.encoded import EncodedTiles
from wsi.slide.placement import Placement


@dataclass(frozen=True, slots=True)
class Begun:
    """The tiles of a placement follow."""

    work: Work
    placement: Placement
    tiles: NDArray[np.int32]  #: [boxes] tile number of the plan of each of the placement's boxes


@dataclass(frozen=True, slots=True)
class Fetched:
    """The next tiles of the file of the placement begun last."""

    work: Work
    encoded: EncodedTiles


@dataclass(frozen=True, slots=True)
class Sent:
    """All of a work was fetched, or `error` ended it."""

    work: Work
    error: Exception | None = None


@dataclass(eq=False, slots=True)
class Slot:
    """A batch under construction, or a full one: rows of the memory, one after the other."""

    rows: Rows  #: of all slots
    first: int  #: row of the memory that this one begins at
    size: int  #: the one batch shape
    tiles: NDArray[np.int32]  #: [size] tile numbers of the plan; -1: padding
    owner: NDArray[np.int32]  #: [size] which of `works`
    works: list[Work] = field(default_factory=list[Work])
    used: int = 0
    closed: bool = False  #: no row will be added
    outstanding: int = 0  #: pieces of its rows that are not yet decoded
    broken: dict[int, dict[int, str]] = field(default_factory=dict[int, dict[int, str]])  #: row -> file tile -> why

    def reason(self, row: int) -> str:
        """Names every broken file tile of the row."""
        return "; ".join(f"file tile {tile}: {why}" for tile, why in sorted(self.broken[row].items()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Outputs:
    """What one batch gave for one work."""

    work: Work
    tiles: NDArray[np.int32]  #: [n] tile numbers of the plan
    scores: NDArray[np.float32]  #: [n, columns of the card]
    quality: NDArray[np.float32]  #: [n, 4] of `wsi.quality`
    unreadable: Mapping[int, str]  #: tile number -> reason
    padded: int  #: rows of the batch computed for nothing; of several works in it the first one's
    seconds: float  #: in the model, by its share of the batch
    began: float  #: when the batch was handed to the model, by this process's clock
    ended: float  #: when its scores were there

    @property
    def count(self) -> int:
        return len(self.tiles) + len(self.unreadable)


@dataclass(frozen=True, slots=True)
class Ended:
    """No more outputs of a work will come: all are there, it was stopped, or `error` ended it."""

    work: Work
    error: Exception | None = None
