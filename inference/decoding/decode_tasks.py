"""Tasks for decoders, as values that can be sent to a process: decode tiles into the rows of batches, resample rows,
measure rows, find the objects of their maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wsi.errors import TileUnreadable
from wsi.objects.found import FoundObjects
from wsi.objects.window import Window
from wsi.records.model_card import Resize
from wsi.records.outputs import ObjectOutput
from wsi.results.tile_quality import measure
from wsi.slide.coding import Reduction
from wsi.slide.decoding import TileDecoding
from wsi.slide.encoded import EncodedTiles
from wsi.slide.placement import TileRects
from wsi.slide.resample import resample_box
from wsi.slide.slide import RGB, EncodedTile

Memory = NDArray[np.uint8]  #: [bytes] that hold the rows of all batches
Failures = tuple[tuple[int, str], ...]  #: (tile of the file, what is wrong with it)


@dataclass(frozen=True, slots=True)
class Rows:
    """The layout of rows in the memory: consecutive from byte `start`, each the RGB image of a model's box."""

    count: int
    height: int  #: px of the level as decoded; of resampled boxes, of the network's input
    width: int
    start: int = 0

    @property
    def row_bytes(self) -> int:
        """Return the bytes of one row."""
        return self.height * self.width * 3

    @property
    def end(self) -> int:
        """Return the first byte behind the rows."""
        return self.start + self.count * self.row_bytes

    def view(self, memory: Memory) -> NDArray[np.uint8]:
        """Return the rows as [count, height, width, 3], without a copy."""
        return memory[self.start : self.end].reshape(self.count, self.height, self.width, 3)


@dataclass(frozen=True, slots=True)
class MapRows:
    """The layout of maps in the memory: those of consecutive rows from byte `start`."""

    count: int
    maps: int
    side: int  #: px
    start: int

    def view(self, memory: Memory) -> NDArray[np.uint8]:
        """Return the maps as [count, maps, side, side], without a copy."""
        size = self.count * self.maps * self.side**2
        return memory[self.start : self.start + size].reshape(self.count, self.maps, self.side, self.side)


class DecodeTask(Protocol):
    """A piece of work for a decoder: run in any thread, or pickled and run in another process."""

    @property
    def is_portable(self) -> bool:
        """Return whether another process can run it."""
        ...

    def run(self, memory: Memory) -> Any: ...


class Decoders(Protocol):
    """Workers that run decode tasks. They share `memory` with the threads that submit the tasks."""

    @property
    def memory(self) -> Memory: ...

    @property
    def pending(self) -> int:
        """Return the number of tasks that were submitted and are not done."""
        ...

    @property
    def seconds(self) -> float:
        """Return the seconds spent on finished tasks, of all workers together."""
        ...

    @property
    def tiles_per_task(self) -> int:
        """Return the number of 256-px tiles that suits a task: small tasks cost dispatch time, large ones keep many
        rows open."""
        ...

    def submit(self, task: DecodeTask) -> Future[Any]:
        """Submit a task, and wait while enough tasks are ahead of it. The future gets what `task.run` returns or
        raises."""
        ...

    def close(self) -> None:
        """End the workers. Tasks that were not begun are cancelled."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """The decoding parameters that all tiles of a placement have in common."""

    rows: Rows
    level: int
    decoding: TileDecoding | Callable[[EncodedTile, Reduction, int], RGB]  #: the latter is the reader's own `decode`
    reduction: Reduction
    fill: int  #: grey value of what was never scanned

    @property
    def is_portable(self) -> bool:
        return isinstance(self.decoding, TileDecoding)

    def decode_tile(self, tile: int, pieces: tuple[bytes, ...]) -> RGB:
        """Decode one tile. Raises TileUnreadable."""
        if isinstance(self.decoding, TileDecoding):
            return self.decoding.decode(pieces, self.reduction, self.fill)
        return self.decoding(EncodedTile(self.level, tile, pieces), self.reduction, self.fill)


@dataclass(frozen=True, slots=True)
class ScatterTiles:
    """A task that decodes tiles, each once, and copies their pieces to the rows that need them while they are in the
    CPU's cache. `run` returns the tiles that could not be decoded; their rows are left as they are."""

    recipe: Recipe
    encoded: EncodedTiles
    first: NDArray[np.int64]  #: [tiles + 1] pieces of tile k are `pieces[first[k] : first[k + 1]]`
    pieces: TileRects  #: whose box is a row

    @property
    def is_portable(self) -> bool:
        return self.recipe.is_portable

    def run(self, memory: Memory) -> Failures:
        rows = self.recipe.rows.view(memory)
        first, table = self.first.tolist(), self.pieces.table.tolist()
        failures: list[tuple[int, str]] = []
        for number, (tile, encoded) in enumerate(self.encoded.iterate_pieces()):
            try:
                pixels = self.recipe.decode_tile(tile, encoded)
            except TileUnreadable as error:
                failures.append((tile, error.sentence))
                continue
            for row, left, top, x, y, width, height in table[first[number] : first[number + 1]]:
                rows[row, y : y + height, x : x + width] = pixels[top : top + height, left : left + width]
        return tuple(failures)

    def split(self) -> Iterator[ScatterTiles]:
        """Yield a task for each tile."""
        for number in range(len(self.encoded)):
            low, high = int(self.first[number]), int(self.first[number + 1])
            yield ScatterTiles(
                self.recipe,
                self.encoded.slice(number, number + 1),
                np.array([0, high - low], np.int64),
                self.pieces[low:high],
            )


@dataclass(frozen=True, slots=True)
class MeasureRows:
    """A task that measures the quality of tiles in some rows. `run` returns [n, 4] of `wsi.results.tile_quality`."""

    rows: Rows
    first: int
    last: int

    @property
    def is_portable(self) -> bool:
        return True

    def run(self, memory: Memory) -> NDArray[np.float32]:
        return measure(self.rows.view(memory)[self.first : self.last])


@dataclass(frozen=True, slots=True)
class ResampleRows:
    """A task that samples boxes at fractions of a pixel, from rows as read into rows as the model gets them."""

    read: Rows
    resampled: Rows  #: squares
    rows: NDArray[np.intp]  #: [n] numbers, the same in both
    boxes: NDArray[np.float64]  #: [n, 4] left, top, right, bottom in px of each row as read
    resize: Resize

    @property
    def is_portable(self) -> bool:
        return True

    def run(self, memory: Memory) -> None:
        read, resampled = self.read.view(memory), self.resampled.view(memory)
        for row, box in zip(self.rows.tolist(), self.boxes, strict=True):
            resampled[row] = resample_box(read[row], box, self.resampled.height, self.resize)


@dataclass(frozen=True, slots=True)
class ExtractObjects:
    """A task that finds the objects of one row's maps."""

    maps: MapRows
    row: int
    window: Window
    output: ObjectOutput
    tile: int

    @property
    def is_portable(self) -> bool:
        return True

    def run(self, memory: Memory) -> FoundObjects:
        from wsi.objects.extracting import extract_objects  # here: decoders of other models need no scipy

        return extract_objects(self.maps.view(memory)[self.row], self.window, self.output, self.tile)
