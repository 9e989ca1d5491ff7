"""A shard, or what is left of it, on its way through the stages."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from inference.models.loaded import LoadedModel
from wsi.objects.window import Window, WindowGrid
from wsi.planning.grid import compute_level_boxes, compute_read_boxes, reduce_level
from wsi.planning.plan import Numerics, Plan
from wsi.planning.windows import make_window_grid
from wsi.records.model_card import EdgeFill
from wsi.records.slides import LevelInfo
from wsi.results.shard_result import ShardResult
from wsi.slide.slide import SlideReader

_FILLS: Final = {EdgeFill.WHITE: 255, EdgeFill.BLACK: 0}


@dataclass(frozen=True, slots=True)
class Shape:
    """The properties that tiles must have in common to share a batch: box size, model, batch size and precision."""

    model: int  #: identity of the loaded model
    numerics: Numerics
    height: int  #: px of the level as decoded
    width: int
    resampled: int | None = None  #: side in px that boxes are resampled to before the model gets them
    maps: tuple[int, int] | None = None  #: number and side in px of the maps that the model gives

    @property
    def row_bytes(self) -> int:
        """Return the bytes of a box as read and, where there are any, of the box that the model gets resampled and of
        the maps that it gives."""
        maps, side = self.maps or (0, 0)
        return 3 * self.height * self.width + 3 * (self.resampled or 0) ** 2 + maps * side**2


@dataclass(frozen=True, kw_only=True, eq=False)
class ShardTask:
    """The tiles of one shard that are still to be computed, with the slide and the model to compute them with."""

    plan: Plan
    index: int  #: of the shard
    reader: SlideReader
    model: LoadedModel
    tiles: NDArray[np.int32]  #: numbers of the tiles to compute, in the file's order
    stop: threading.Event  #: set by the caller: the batch in flight is finished, and no other is begun
    ended: threading.Event = field(default_factory=threading.Event)  #: set at its end, or to drop it

    @staticmethod
    def from_plan(
        plan: Plan,
        index: int,
        reader: SlideReader,
        model: LoadedModel,
        *,
        resume: ShardResult | None = None,
        stop: threading.Event,
    ) -> ShardTask:
        """Return the task for all tiles of shard `index` that `resume` lacks.

        Raises ValueError if `resume` is of another plan or shard.
        """
        tiles = plan.shard_tiles(index)
        if resume is not None:
            resume.check_part_of(plan.digest, tiles)
            tiles = tiles[~np.isin(tiles, [*resume.tiles, *resume.unreadable])]
        return ShardTask(plan=plan, index=index, reader=reader, model=model, tiles=tiles, stop=stop)

    @property
    def is_cancelled(self) -> bool:
        """Return whether the stages must not compute any more of it."""
        return self.stop.is_set() or self.ended.is_set()

    @property
    def shape(self) -> Shape:
        """Return the shape of the batches that its tiles can be part of."""
        grid, card = self.plan.grid, self.plan.card
        resampled = card.input_px if grid.fractions else None
        maps = None if card.objects is None else (card.objects.maps, card.input_px)
        return Shape(id(self.model), self.plan.numerics, grid.level_side_y, grid.level_side, resampled, maps)

    def place_window(self, tile: int) -> Window:
        """Return the window of a tile of a plan that has windows."""
        grid, (x, y) = self.plan.grid, self.plan.tiles[tile].tolist()
        return self.windows.place_window(x // grid.side, y // grid.side_y)

    @cached_property
    def windows(self) -> WindowGrid:
        """The windows of a plan that has some."""
        return make_window_grid(self.plan)

    @property
    def level(self) -> LevelInfo:
        """Return the level that is read, at decoded resolution."""
        grid = self.plan.grid
        return reduce_level(self.plan.inspection.levels[grid.level], grid.reduction)

    @property
    def boxes(self) -> NDArray[np.int32]:
        """Return the corner of each of `tiles`, [n, 2] in px of `level`."""
        return compute_level_boxes(self.plan.grid, self.plan.tiles[self.tiles])

    def compute_read_boxes(self, tiles: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return [n, 4] left, top, right, bottom of the given tiles of the plan, in px of the box read for each."""
        return compute_read_boxes(self.plan.grid, self.plan.tiles[tiles])

    @property
    def fill(self) -> int:
        """Return the grey value past the slide's edge."""
        return _FILLS[self.plan.card.edge_fill]
