"""The parts of the file's tiles that make up each box. All are computed in arrays before the first tile is decoded, so
that a decoder can copy a tile straight to where it is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.records.slides import LevelInfo


@dataclass(frozen=True, slots=True)
class TileRects:
    """Rectangles of file tiles, by tile, in px of the level as decoded. The part of a box that no tile covers is past
    the level's edge. One table, since it travels to the processes that decode."""

    table: NDArray[np.int64]  #: [pieces, 7] number of the box; x, y in the tile; x, y in the box; width, height

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, part: slice) -> TileRects:
        return TileRects(self.table[part])

    @property
    def box(self) -> NDArray[np.int64]:
        """The number of each piece's box, [pieces]."""
        return self.table[:, 0]


@dataclass(frozen=True, slots=True)
class Placement:
    """Boxes of one size and what each takes from which tile. Boxes are renumbered in the order in which their first
    tile comes."""

    order: NDArray[np.int32]  #: [boxes] the box as it was given that has this number
    tiles: NDArray[np.int64]  #: [tiles] tiles of the file that any box needs, row-major numbers, as they will come
    first: NDArray[np.int64]  #: [tiles + 1] pieces of tile k are `pieces[first[k] : first[k + 1]]`
    pieces: TileRects
    lacking: NDArray[np.int32]  #: [boxes] pieces of each box
    begun: NDArray[np.int64]  #: [tiles + 1] boxes that have a piece of any tile before k: numbers 0 to begun[k]
    edge: NDArray[np.bool_]  #: [boxes] whether part of it is past the level's edge

    @property
    def window(self) -> int:
        """Boxes that are begun and not finished at most, counting every box from the oldest unfinished one on."""
        boxes = len(self.order)
        tile_of_piece = np.repeat(np.arange(len(self.tiles)), np.diff(self.first))
        last = np.full(boxes, -1, np.int64)  #: tile that finishes a box
        np.maximum.at(last, self.pieces.box, tile_of_piece)
        unfinished = np.maximum.accumulate(last)  # box k and those before it are finished after that tile
        oldest = np.searchsorted(unfinished, np.arange(len(self.tiles)))  # first box that tile k still works at
        return int((self.begun[1:] - oldest).max(initial=0))


def place(
    level: LevelInfo,
    boxes: NDArray[np.int32],
    width: int,
    height: int,
    ordered: Callable[[NDArray[np.int64]], NDArray[np.int64]] = np.sort,
) -> Placement:
    """Return the placement of boxes of `width` x `height` px. `boxes` is [n, 2], their x and y in px of `level` (as it
    is decoded), wholly or partly on it or past it. `ordered` puts the tiles that are needed into the order in which
    they will come."""
    size = np.array((width, height))
    low, high = boxes.clip(0), np.minimum(boxes + size, (level.width, level.height))
    sides = np.array((level.tile_width, level.tile_height))
    start, end = low // sides, -(-high // sides)  # tiles from and to, across and down
    spans = (end - start) * (high > low).all(axis=1, keepdims=True)
    counts = np.where((spans > 0).all(axis=1), spans[:, 0] * spans[:, 1], 0)
    box = np.repeat(np.arange(len(boxes)), counts)
    within = np.arange(len(box)) - np.repeat(np.cumsum(counts) - counts, counts)
    across = np.maximum(spans[box, 0], 1)
    cell = start[box] + np.stack((within % across, within // across), axis=1)
    tile = cell[:, 1] * -(-level.width // level.tile_width) + cell[:, 0]
    corner = cell * sides
    left_top, right_bottom = np.maximum(low[box], corner), np.minimum(high[box], corner + sides)

    tiles = ordered(np.unique(tile))
    rank = _ranks(tiles, tile)
    begins = np.full(len(boxes), -1, np.int64)  # boxes without any tile come first
    begins[counts > 0] = np.minimum.reduceat(rank, (np.cumsum(counts) - counts)[counts > 0]) if len(rank) else 0
    order = np.argsort(begins, kind="stable")
    number = np.empty(len(boxes), np.int64)
    number[order] = np.arange(len(boxes))

    by_tile = np.lexsort((number[box], rank))
    box, corner, left_top, right_bottom = box[by_tile], corner[by_tile], left_top[by_tile], right_bottom[by_tile]
    return Placement(
        order=order.astype(np.int32),
        tiles=tiles,
        first=np.searchsorted(rank[by_tile], np.arange(len(tiles) + 1)),
        pieces=TileRects(
            np.concatenate(
                (number[box][:, None], left_top - corner, left_top - boxes[box], right_bottom - left_top), axis=1
            ).astype(np.int64)
        ),
        lacking=counts[order].astype(np.int32),
        begun=np.searchsorted(begins[order], np.arange(len(tiles) + 1), side="left"),
        edge=((high - low) != size).any(axis=1)[order],
    )


def place_in_strips(
    level: LevelInfo,
    boxes: NDArray[np.int32],
    width: int,
    height: int,
    ordered: Callable[[NDArray[np.int64]], NDArray[np.int64]] = np.sort,
    *,
    most: int,
) -> Iterator[tuple[NDArray[np.int64], Placement]]:
    """Yield (which of `boxes`, their placement): all at once where at most `most` boxes need to be open at a time;
    otherwise in strips, whose tiles at the borders are decoded once for each side."""
    yield from _strips(np.arange(len(boxes)), level, boxes, width, height, ordered, most)


def _strips(
    chosen: NDArray[np.int64],
    level: LevelInfo,
    boxes: NDArray[np.int32],
    width: int,
    height: int,
    ordered: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    most: int,
) -> Iterator[tuple[NDArray[np.int64], Placement]]:
    placed = place(level, boxes[chosen], width, height, ordered)
    if placed.window <= most or len(chosen) <= max(most, 1):
        yield chosen, placed
        return
    across = np.argsort(boxes[chosen, 0], kind="stable")
    half = len(chosen) // 2
    for part in (across[:half], across[half:]):
        yield from _strips(chosen[np.sort(part)], level, boxes, width, height, ordered, most)


def _ranks(tiles: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each of `asked` in `tiles`."""
    by_number = np.argsort(tiles)
    return by_number[np.searchsorted(tiles[by_number], asked)]
