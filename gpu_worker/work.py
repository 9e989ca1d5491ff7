"""A shard, or what is left of it, on its way through the stages."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpu_worker.models.loaded import LoadedModel
from wsi.grid import decoded_level, level_boxes
from wsi.model_card import EdgeFill
from wsi.plan import Numerics, Plan
from wsi.records.slides import LevelInfo
from wsi.shard_result import ShardResult
from wsi.slide.slide import SlideReader

_FILLS: Final = {EdgeFill.WHITE: 255, EdgeFill.BLACK: 0}


@dataclass(frozen=True, slots=True)
class Shape:
    """What one batch may hold together: boxes of one size for one model at one batch size and precision."""

    model: int  #: which loaded model
    numerics: Numerics
    height: int  #: px of the level as decoded
    width: int

    @property
    def row_bytes(self) -> int:
        return 3 * self.height * self.width


@dataclass(frozen=True, kw_only=True, eq=False)
class Work:
    plan: Plan
    index: int  #: of the shard
    reader: SlideReader
    model: LoadedModel
    tiles: NDArray[np.int32]  #: numbers of the tiles to compute, in the file's order
    stop: threading.Event  #: ends the work: its batch in flight is finished, nothing more of it is begun
    ended: threading.Event = field(default_factory=threading.Event)  #: by an error, or by its stop

    @staticmethod
    def of(
        plan: Plan,
        index: int,
        reader: SlideReader,
        model: LoadedModel,
        *,
        resume: ShardResult | None = None,
        stop: threading.Event,
    ) -> Work:
        """All of shard `index` that `resume` does not hold. Raises ValueError for one of another plan or shard."""
        tiles = plan.shard_tiles(index)
        if resume is not None:
            resume.check_part_of(plan.digest, tiles)
            tiles = tiles[~np.isin(tiles, [*resume.tiles, *resume.unreadable])]
        return Work(plan=plan, index=index, reader=reader, model=model, tiles=tiles, stop=stop)

    @property
    def gone(self) -> bool:
        """Nothing more of it is to be computed."""
        return self.stop.is_set() or self.ended.is_set()

    @property
    def shape(self) -> Shape:
        grid = self.plan.grid
        return Shape(id(self.model), self.plan.numerics, grid.level_side_y, grid.level_side)

    @property
    def level(self) -> LevelInfo:
        """That is read, in the pixels that its tiles are decoded to."""
        grid = self.plan.grid
        return decoded_level(self.plan.inspection.levels[grid.level], grid.reduction)

    @property
    def boxes(self) -> NDArray[np.int32]:
        """[n, 2] of `tiles`, in px of `level`."""
        return level_boxes(self.plan.grid, self.plan.tiles[self.tiles])

    @property
    def fill(self) -> int:
        """Grey value past the slide's edge."""
        return _FILLS[self.plan.card.edge_fill]
