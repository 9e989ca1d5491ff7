"""What decoders do, as values that travel to a process: decode tiles into the rows of batches, measure rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
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
    def tiles_a_job(self) -> int:
        """That suit them, of 256 px: a job costs whoever hands it out some time, and many tiles keep many rows open."""
        ...

    def submit(self, job: Job) -> Future[Any]:
        """Waits while enough jobs are ahead. The future gets what `job.run` gives, or its error."""
        ...

    def close(self) -> None:
        """Jobs that were not begun are cancelled."""
        ...


@dataclass(frozen=True, slots=True)
class ScatterTiles:
    """Decodes tiles, each once, and copies their pieces to the rows that want them, while they are in the CPU's cache.
    `run` gives the tiles that could not be decoded; their rows are left as they are."""

    rows: Rows
    encoded: EncodedTiles
    first: NDArray[np.int64]  #: [tiles + 1] pieces of tile k are `pieces[first[k] : first[k + 1]]`
    pieces: Pieces  #: whose `box` is a row
    decoding: TileDecoding | Callable[[EncodedTile, Reduction, int], RGB]  #: the latter is the reader's own `decode`
    reduction: Reduction
    fill: int  #: grey value of what was never scanned

    @property
    def portable(self) -> bool:
        return isinstance(self.decoding, TileDecoding)

    def run(self, memory: Memory) -> Failures:
        rows = self.rows.of(memory)
        first = self.first.tolist()
        boxes = self.pieces.box.tolist()
        places = np.concatenate((self.pieces.source, self.pieces.target, self.pieces.size), axis=1).tolist()
        failures: list[tuple[int, str]] = []
        for number, (tile, encoded) in enumerate(self.encoded.pieces()):
            try:
                pixels = self._decode(tile, encoded)
            except TileUnreadable as error:
                failures.append((tile, error.sentence))
                continue
            for piece in range(first[number], first[number + 1]):
                left, top, x, y, width, height = places[piece]
                rows[boxes[piece], y : y + height, x : x + width] = pixels[top : top + height, left : left + width]
        return tuple(failures)

    def _decode(self, tile: int, pieces: tuple[bytes, ...]) -> RGB:
        if isinstance(self.decoding, TileDecoding):
            return self.decoding.pixels(pieces, self.reduction, self.fill)
        return self.decoding(EncodedTile(self.encoded.level, tile, pieces), self.reduction, self.fill)

    def alone(self) -> Iterator[ScatterTiles]:
        """A job for each tile."""
        for number in range(len(self.encoded)):
            low, high = int(self.first[number]), int(self.first[number + 1])
            yield replace(
                self,
                encoded=self.encoded.part(number, number + 1),
                first=np.array([0, high - low], np.int64),
                pieces=self.pieces[low:high],
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
