"""What decoders do, as values that travel to a process: decode tiles into the rows of batches, measure rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wsi.errors import TileUnreadable
from wsi.quality import measure
from wsi.slide.coding import Reduction
from wsi.slide.decoding import TileDecoding
from wsi.slide.encoded import EncodedTiles
from wsi.slide.placement import Pieces
from wsi.slide.slide import RGB, EncodedTile

Memory = NDArray[np.uint8]  #: [bytes] that the rows of all batches lie in
Failures = tuple[tuple[int, str], ...]  #: (tile of the file, what is wrong with it)


@dataclass(frozen=True, slots=True)
class Rows:
    """How rows lie in the memory: one after the other from its start, each an RGB picture of the model's box."""

    count: int
    height: int  #: px of the level as decoded
    width: int

    @property
    def row_bytes(self) -> int:
        return self.height * self.width * 3

    def of(self, memory: Memory) -> NDArray[np.uint8]:
        """[count, height, width, 3]"""
        used = memory[: self.count * self.row_bytes]
        return used.reshape(self.count, self.height, self.width, 3)


class Job(Protocol):
    """Is done in any thread, or pickled and done in another process."""

    @property
    def portable(self) -> bool:
        """Whether another process can do it."""
        ...

    def run(self, memory: Memory) -> Any: ...


class Decoders(Protocol):
    """Whoever does jobs. `memory` is theirs and everybody's who makes jobs."""

    @property
    def memory(self) -> Memory: ...

    @property
    def pending(self) -> int:
        """Jobs that were submitted and are not done."""
        ...

    @property
    def seconds(self) -> float:
        """At jobs that are done, of all workers together."""
        ...

    @property
    def tiles_a_job(self) -> int:
        """That suit them, of 256 px: a job costs whoever hands it out some time, and many tiles keep many rows open."""
        ...

    def submit(self, job: Job) -> Future[Any]:
        """Waits while enough jobs are ahead. The future gets what `job.run` gives, or its error."""
        ...

    def close(self) -> None:
        """Jobs that were not begun are cancelled."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """What all tiles of a placement have in common."""

    rows: Rows
    level: int
    decoding: TileDecoding | Callable[[EncodedTile, Reduction, int], RGB]  #: the latter is the reader's own `decode`
    reduction: Reduction
    fill: int  #: grey value of what was never scanned

    @property
    def portable(self) -> bool:
        return isinstance(self.decoding, TileDecoding)

    def pixels(self, tile: int, pieces: tuple[bytes, ...]) -> RGB:
        """Raises TileUnreadable."""
        if isinstance(self.decoding, TileDecoding):
            return self.decoding.pixels(pieces, self.reduction, self.fill)
        return self.decoding(EncodedTile(self.level, tile, pieces), self.reduction, self.fill)


@dataclass(frozen=True, slots=True)
class ScatterTiles:
    """Decodes tiles, each once, and copies their pieces to the rows that want them, while they are in the CPU's cache.
    `run` gives the tiles that could not be decoded; their rows are left as they are."""

    recipe: Recipe
    encoded: EncodedTiles
    first: NDArray[np.int64]  #: [tiles + 1] pieces of tile k are `pieces[first[k] : first[k + 1]]`
    pieces: Pieces  #: whose box is a row

    @property
    def portable(self) -> bool:
        return self.recipe.portable

    def run(self, memory: Memory) -> Failures:
        rows = self.recipe.rows.of(memory)
        first, table = self.first.tolist(), self.pieces.table.tolist()
        failures: list[tuple[int, str]] = []
        for number, (tile, encoded) in enumerate(self.encoded.pieces()):
            try:
                pixels = self.recipe.pixels(tile, encoded)
            except TileUnreadable as error:
                failures.append((tile, error.sentence))
                continue
            for row, left, top, x, y, width, height in table[first[number] : first[number + 1]]:
                rows[row, y : y + height, x : x + width] = pixels[top : top + height, left : left + width]
        return tuple(failures)

    def alone(self) -> Iterator[ScatterTiles]:
        """A job for each tile."""
        for number in range(len(self.encoded)):
            low, high = int(self.first[number]), int(self.first[number + 1])
            yield ScatterTiles(
                self.recipe,
                self.encoded.part(number, number + 1),
                np.array([0, high - low], np.int64),
                self.pieces[low:high],
            )


@dataclass(frozen=True, slots=True)
class MeasureRows:
    """How the pictures in some rows look. `run` gives [n, 4] of `wsi.quality`."""

    rows: Rows
    first: int
    last: int

    @property
    def portable(self) -> bool:
        return True

    def run(self, memory: Memory) -> NDArray[np.float32]:
        return measure(self.rows.of(memory)[self.first : self.last])
