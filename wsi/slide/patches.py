"""Boxes of a level put together from the file's tiles, in whatever order the tiles come; each tile is decoded once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from wsi.errors import TileUnreadable
from wsi.records.slides import LevelInfo
from wsi.slide.slide import RGB


class PatchAssembler:
    """`boxes` is [n, 2], x and y of boxes of `width` x `height` px (squares, unless a height is given) in the level's
    own pixels; they may lie partly or wholly outside the level, where they are filled with `fill`.

    Memory: the boxes that were begun and not finished. A tile's pixels are copied into them and not kept.
    """

    def __init__(
        self, level: LevelInfo, boxes: NDArray[np.int32], width: int, height: int | None = None, *, fill: int
    ) -> None:
        self._level = level
        self._width, self._height = width, width if height is None else height
        self._fill = fill
        self._boxes = [(int(x), int(y)) for x, y in boxes]
        self._columns = -(-level.width // level.tile_width)
        self._waiting: list[int] = []  #: file tiles that each box still lacks
        self._users: dict[int, list[int]] = {}  #: file tile -> boxes
        self._begun: dict[int, RGB] = {}
        self._broken: dict[int, dict[int, str]] = {}  #: box -> file tile -> what is wrong with it
        for position, (x, y) in enumerate(self._boxes):
            tiles = self._tiles_under(x, y)
            self._waiting.append(len(tiles))
            for tile in tiles:
                self._users.setdefault(tile, []).append(position)
        self._needed = tuple(sorted(self._users))

    @property
    def needed(self) -> tuple[int, ...]:
        """The file tiles to add, row-major."""
        return self._needed

    def add(self, tile_index: int, pixels: RGB | TileUnreadable) -> list[tuple[int, RGB | str]]:
        """The boxes that this tile completes: (position in `boxes`, [height, width, 3] pixels), or in place of pixels
        the reason that names every broken file tile of the box. Raises KeyError for a tile that is not awaited."""
        done: list[tuple[int, RGB | str]] = []
        for position in self._users.pop(tile_index):
            if isinstance(pixels, TileUnreadable):
                self._broken.setdefault(position, {})[tile_index] = pixels.sentence
                self._begun.pop(position, None)
            elif position not in self._broken:
                self._copy(tile_index, pixels, position)
            self._waiting[position] -= 1
            if not self._waiting[position]:
                done.append((position, self._finished(position)))
        return done

    def without_source(self) -> list[tuple[int, RGB | str]]:
        """The boxes that lie wholly outside the level."""
        outside = (position for position, (x, y) in enumerate(self._boxes) if not self._tiles_under(x, y))
        return [(position, self._blank()) for position in outside]

    def _tiles_under(self, x: int, y: int) -> list[int]:
        level = self._level
        columns = _span(x, self._width, level.width, level.tile_width)
        rows = _span(y, self._height, level.height, level.tile_height)
        return [row * self._columns + column for row in rows for column in columns]

    def _copy(self, tile_index: int, pixels: RGB, position: int) -> None:
        level = self._level
        row, column = divmod(tile_index, self._columns)
        tile_x, tile_y = column * level.tile_width, row * level.tile_height
        x, y = self._boxes[position]
        left, right = max(x, tile_x), min(x + self._width, tile_x + level.tile_width, level.width)
        top, bottom = max(y, tile_y), min(y + self._height, tile_y + level.tile_height, level.height)
        if position not in self._begun:
            self._begun[position] = self._blank()
        source = pixels[top - tile_y : bottom - tile_y, left - tile_x : right - tile_x]
        self._begun[position][top - y : bottom - y, left - x : right - x] = source

    def _finished(self, position: int) -> RGB | str:
        broken = self._broken.pop(position, None)
        if broken is None:
            return self._begun.pop(position)
        return "; ".join(f"file tile {tile}: {broken[tile]}" for tile in sorted(broken))

    def _blank(self) -> RGB:
        return np.full((self._height, self._width, 3), self._fill, np.uint8)


def _span(start: int, side: int, size: int, tile: int) -> Iterable[int]:
    """Tiles of a row that the `side` px from `start` overlap, of a level `size` px long."""
    first, last = max(start, 0), min(start + side, size)
    return range(first // tile, -(-last // tile)) if first < last else range(0)
