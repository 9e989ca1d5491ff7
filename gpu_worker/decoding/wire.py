"""How a job's tiles reach another process: bytes and numbers lie in shared memory, and only where they lie is sent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_worker.decoding.jobs import Memory, Recipe, ScatterTiles
from wsi.slide.encoded import EncodedTiles
from wsi.slide.placement import Pieces

_NUMBER = 8  #: bytes
_OF_A_PIECE = 7  #: numbers: `wsi.slide.placement.Pieces`


class Sent(NamedTuple):
    """A job whose numbers lie in the memory, one array behind the other, and its tiles' bytes behind them."""

    slab: int  #: byte that it begins at, a multiple of 8
    recipe: Recipe | None  #: None: that of the job before
    tiles: int
    parts: int  #: of tiles, as the file has them
    pieces: int  #: for rows
    size: int  #: bytes of the tiles

    @property
    def numbers(self) -> int:
        """Tiles; where their parts begin, [tiles + 1]; starts and ends of these; where their pieces begin, [tiles + 1];
        the pieces' table."""
        return 3 * self.tiles + 2 + 2 * self.parts + _OF_A_PIECE * self.pieces

    @property
    def data(self) -> slice:
        """Of the memory."""
        begin = self.slab + self.numbers * _NUMBER
        return slice(begin, begin + self.size)

    def arrays(self, memory: Memory) -> NDArray[np.int64]:
        """[numbers]"""
        return memory[self.slab : self.slab + self.numbers * _NUMBER].view(np.int64)


def sent(job: ScatterTiles, slab: int, recipe: Recipe | None) -> Sent:
    encoded = job.encoded
    return Sent(slab, recipe, len(encoded), len(encoded.starts), len(job.pieces), len(encoded.data))


def put(job: ScatterTiles, where: Sent, memory: Memory) -> None:
    encoded = job.encoded
    arrays = encoded.tiles, encoded.first, encoded.starts, encoded.ends, job.first, job.pieces.table.reshape(-1)
    np.concatenate(arrays, out=where.arrays(memory))
    memory[where.data] = np.frombuffer(encoded.data, np.uint8)


def taken(recipe: Recipe, where: Sent, memory: Memory) -> ScatterTiles:
    """The job that was `put` there. It is good for as long as nobody writes there."""
    counts = where.tiles, where.tiles + 1, where.parts, where.parts, where.tiles + 1
    tiles, parts, starts, ends, first, table = np.split(where.arrays(memory), np.cumsum(counts))
    return ScatterTiles(
        recipe,
        EncodedTiles(recipe.level, tiles, parts, starts, ends, memory[where.data].data),
        first,
        Pieces(table.reshape(-1, _OF_A_PIECE)),
    )
