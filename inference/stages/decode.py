"""Decode: cuts what was fetched into tasks for the decoders, which decode each tile once, into the rows of batches."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from inference.channel import Closed
from inference.decoding.decode_tasks import Decoders, Failures, Recipe, Rows, ScatterTiles
from inference.stages.batch import Batches
from inference.stages.values import Begun, Ended, Fetched
from wsi.slide.encoded import EncodedTiles
from wsi.slide.placement import TileRects

#: The tile that `Decoders.tiles_per_task` counts in: a task holds fewer larger tiles.
TILE_PIXELS = 256 * 256


class PlacementDecoder:
    """Hands the tiles of one placement to the decoders, in its order."""

    def __init__(self, begun: Begun, rows: Rows, batches: Batches, decoders: Decoders) -> None:
        self._task, self._placement, self._tiles = begun.task, begun.placement, begun.tiles
        self._rows, self._batches, self._decoders = rows, batches, decoders
        self._row_of = np.full(len(begun.tiles), -1, np.int32)
        self._assigned = 0  #: boxes that have a row
        self._next = 0  #: index of the next tile
        grid, level = begun.task.plan.grid, begun.task.level
        most = decoders.tiles_per_task
        self._max_tiles = max(1, min(most, most * TILE_PIXELS // (level.tile_width * level.tile_height)))
        reader, fill = begun.task.reader, begun.task.fill
        #: For what only the reader can decode, and for tiles whose bytes it could not request: it knows why.
        self._local_recipe = Recipe(rows, grid.level, reader.decode, grid.reduction, fill)
        decoding = reader.find_decoding(grid.level)
        self._recipe = replace(self._local_recipe, decoding=decoding) if decoding else self._local_recipe
        while self._assigned < (first := int(begun.placement.begun[0])):
            self._assign_rows(min(first, self._assigned + batches.free_rows(wait=True)))

    def add(self, fetched: Fetched) -> None:
        """Submit fetched tiles. Waits for rows, and while the decoders are busy.

        Raises Closed; RuntimeError if the tiles come in another order than the reader announced.
        """
        encoded = fetched.encoded
        expected = self._placement.tiles[self._next : self._next + len(encoded)]
        if not np.array_equal(expected, encoded.tiles):
            raise RuntimeError("the reader's tiles came in another order than it said")
        low = 0
        while low < len(encoded) and not self._task.is_cancelled:
            high = min(low + self._max_tiles, len(encoded))
            high = low + self._assign_next(high - low)
            self._submit(encoded.slice(low, high))
            low = high

    def abandon(self, ended: Ended) -> None:
        """Give up the rest of the placement, of which nothing more comes."""
        rows = self._row_of[self._placement.pieces.box[int(self._placement.first[self._next]) :]]
        self._batches.abandon(self._task, rows[rows >= 0], ended)

    def _assign_next(self, most: int) -> int:
        """Assign rows to the boxes that the next tiles begin, and return the number of these tiles, from 1 to `most`.

        Waits for rows only if there are not enough for the next tile alone: the tiles before it, which are being
        decoded, may be what frees them.
        """
        begun = self._placement.begun[self._next + 1 : self._next + 1 + most]
        while True:
            free = self._assigned + self._batches.free_rows(wait=False)
            fitting = int(np.searchsorted(begun, free, side="right"))
            if fitting:
                self._assign_rows(int(begun[fitting - 1]))
                return fitting
            self._assign_rows(min(int(begun[0]), self._assigned + self._batches.free_rows(wait=True)))

    def _assign_rows(self, boxes: int) -> None:
        """Assign rows to the first `boxes` boxes. A box that crosses the slide's edge is filled first, which counts as
        a piece."""
        if boxes == self._assigned:
            return
        part = slice(self._assigned, boxes)
        edge = self._placement.edge[part]
        rows = self._batches.assign_rows(self._task, self._tiles[part], self._placement.lacking[part] + edge)
        self._row_of[part], self._assigned = rows, boxes
        if edge.any():
            self._rows.view(self._decoders.memory)[rows[edge]] = self._recipe.fill
            self._batches.finish_pieces(rows[edge])

    def _submit(self, encoded: EncodedTiles) -> None:
        first = self._placement.first[self._next : self._next + len(encoded) + 1]
        pieces = self._placement.pieces[int(first[0]) : int(first[-1])]
        self._next += len(encoded)
        rows, first = self._row_of[pieces.box], first - first[0]
        table = pieces.table.copy()
        table[:, 0] = rows
        recipe = self._recipe if (encoded.first[1:] > encoded.first[:-1]).all() else self._local_recipe
        decode_task = ScatterTiles(recipe, encoded, first, TileRects(table))
        self._decoders.submit(decode_task).add_done_callback(
            lambda done: self._on_decoded(encoded.tiles, first, rows, done)
        )

    def _on_decoded(
        self, tiles: NDArray[np.int64], first: NDArray[np.int64], rows: NDArray[np.int32], done: Future[Failures]
    ) -> None:
        """Record the outcome of a decode task. Runs on a decoder's thread, and is its border."""
        with suppress(Closed):  # the stages are ending: nobody waits for the rows
            self._record(tiles, first, rows, done)

    def _record(
        self, tiles: NDArray[np.int64], first: NDArray[np.int64], rows: NDArray[np.int32], done: Future[Failures]
    ) -> None:
        """Mark the pieces of decoded tiles as done. `rows`: the row of each piece."""
        if done.cancelled():
            return  # the stages are ending
        error = done.exception()
        if isinstance(error, Exception):
            self._batches.end(Ended(self._task, error))  # before it can be mistaken for a task that was stopped
            self._task.ended.set()
            self._batches.finish_pieces(rows)
            return
        why = dict(done.result())
        broken = [
            (row, tile, why[tile])
            for number, tile in enumerate(tiles.tolist() if why else ())
            if tile in why
            for row in rows[int(first[number]) : int(first[number + 1])].tolist()
        ]
        self._batches.finish_pieces(rows, broken)
