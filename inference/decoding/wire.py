"""Sends a decode task's tiles to another process: bytes and numbers go into shared memory, and only their place and
sizes through the socket."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inference.decoding.decode_tasks import Memory, Recipe, ScatterTiles
from wsi.slide.encoded import EncodedTiles
from wsi.slide.placement import TileRects

_NUMBER = 8  #: bytes
_NUMBERS_PER_PIECE = 7  #: columns of `wsi.slide.placement.TileRects`


class EncodedTask(NamedTuple):
    """The place of a task in the shared memory: its numbers, one array after the other, and then its tiles' bytes."""

    slab: int  #: first byte, a multiple of 8
    recipe: Recipe | None  #: None: that of the task before
    tiles: int
    parts: int  #: of tiles, as the file has them
    pieces: int  #: for rows
    size: int  #: bytes of the tiles

    @property
    def numbers(self) -> int:
        """Return the count of numbers: tiles; index of the first part of each, [tiles + 1]; starts and ends of parts;
        index of the first piece of each, [tiles + 1]; the table of pieces."""
        return 3 * self.tiles + 2 + 2 * self.parts + _NUMBERS_PER_PIECE * self.pieces

    @property
    def data(self) -> slice:
        """Return the part of the memory that holds the tiles' bytes."""
        begin = self.slab + self.numbers * _NUMBER
        return slice(begin, begin + self.size)

    def view_numbers(self, memory: Memory) -> NDArray[np.int64]:
        """Return [numbers] of the memory, without a copy."""
        return memory[self.slab : self.slab + self.numbers * _NUMBER].view(np.int64)


def encode_task(task: ScatterTiles, slab: int, recipe: Recipe | None) -> EncodedTask:
    """Return where the task goes in the memory, from byte `slab` on."""
    encoded = task.encoded
    return EncodedTask(slab, recipe, len(encoded), len(encoded.starts), len(task.pieces), len(encoded.data))


def write_task(task: ScatterTiles, where: EncodedTask, memory: Memory) -> None:
    """Copy the task's numbers and bytes into the memory."""
    encoded = task.encoded
    arrays = encoded.tiles, encoded.first, encoded.starts, encoded.ends, task.first, task.pieces.table.reshape(-1)
    np.concatenate(arrays, out=where.view_numbers(memory))
    memory[where.data] = np.frombuffer(encoded.data, np.uint8)


def read_task(recipe: Recipe, where: EncodedTask, memory: Memory) -> ScatterTiles:
    """Return the task that `write_task` wrote there. It refers to the memory: it is valid until that is overwritten."""
    counts = where.tiles, where.tiles + 1, where.parts, where.parts, where.tiles + 1
    tiles, parts, starts, ends, first, table = np.split(where.view_numbers(memory), np.cumsum(counts))
    return ScatterTiles(
        recipe,
        EncodedTiles(recipe.level, tiles, parts, starts, ends, memory[where.data].data),
        first,
        TileRects(table.reshape(-1, _NUMBERS_PER_PIECE)),
    )
