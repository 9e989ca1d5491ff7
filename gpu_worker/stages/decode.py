"""Decode: cuts what was fetched into jobs for the decoders, each tile once, straight into the rows of batches."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpu_worker.channel import Closed
from gpu_worker.decoding.jobs import Decoders, Failures, Recipe, Rows, ScatterTiles
from gpu_worker.stages.batch import Batches
from gpu_worker.stages.values import Begun, Ended, Fetched
from wsi.slide.encoded import EncodedTiles
from wsi.slide.placement import Pieces

#: What `Decoders.tiles_a_job` counts in: larger tiles are fewer in a job.
TILE_PIXELS = 256 * 256


class Scattering:
    """The tiles of one placement, in its order."""

    def __init__(self, begun: Begun, rows: Rows, batches: Batches, decoders: Decoders) -> None:
        self._work, self._placement, self._tiles = begun.work, begun.placement, begun.tiles
        self._rows, self._batches, self._decoders = rows, batches, decoders
        self._row_of = np.full(len(begun.tiles), -1, np.int32)
        self._taken = 0  #: boxes that have a row
        self._next = 0  #: the tile that comes next
        grid, level = begun.work.plan.grid, begun.work.level
        most = decoders.tiles_a_job
        self._together = max(1, min(most, most * TILE_PIXELS // (level.tile_width * level.tile_height)))
        reader, fill = begun.work.reader, begun.work.fill
        #: The reader itself decodes what no other process can, and knows why it could not ask for a tile's bytes.
        self._here = Recipe(rows, grid.level, reader.decode, grid.reduction, fill)
        decoding = reader.decoding(grid.level)
        self._recipe = replace(self._here, decoding=decoding) if decoding is not None else self._here
        while self._taken < int(begun.placement.begun[0]):
            self._take(min(int(begun.placement.begun[0]), self._taken + batches.room(wait=True)))

    def add(self, fetched: Fetched) -> None:
        """Waits for rows, and while decoders have enough to do. Raises Closed; RuntimeError for tiles that come in
        another order than the reader said they would."""
        encoded = fetched.encoded
        expected = self._placement.tiles[self._next : self._next + len(encoded)]
        if not np.array_equal(expected, encoded.tiles):
            raise RuntimeError("the reader's tiles came in another order than it said")
        low = 0
        while low < len(encoded) and not self._work.gone:
            high = min(low + self._together, len(encoded))
            high = low + self._fitting(high - low)
            self._submit(encoded.part(low, high))
            low = high

    def abandon(self, ended: Ended) -> None:
        """Nothing more of the placement comes."""
        rows = self._row_of[self._placement.pieces.box[int(self._placement.first[self._next]) :]]
        self._batches.abandon(self._work, rows[rows >= 0], ended)

    def _fitting(self, most: int) -> int:
        """How many of the next tiles have rows for the boxes that they begin; takes these. Only waits for a row when
        not even the next tile has them: what it waits for may need the tiles before, which are under way."""
        begun = self._placement.begun[self._next + 1 : self._next + 1 + most]
        while True:
            free = self._taken + self._batches.room(wait=False)
            fitting = int(np.searchsorted(begun, free, side="right"))
            if fitting:
                self._take(int(begun[fitting - 1]))
                return fitting
            self._take(min(int(begun[0]), self._taken + self._batches.room(wait=True)))

    def _take(self, boxes: int) -> None:
        """Rows for boxes up to number `boxes`; past the slide's edge they have the fill's colour, which counts as a
        piece."""
        if boxes == self._taken:
            return
        part = slice(self._taken, boxes)
        edge = self._placement.edge[part]
        rows = self._batches.take(self._work, self._tiles[part], self._placement.lacking[part] + edge)
        self._row_of[part], self._taken = rows, boxes
        if edge.any():
            self._rows.of(self._decoders.memory)[rows[edge]] = self._recipe.fill
            self._batches.finish(rows[edge])

    def _submit(self, encoded: EncodedTiles) -> None:
        first = self._placement.first[self._next : self._next + len(encoded) + 1]
        pieces = self._placement.pieces[int(first[0]) : int(first[-1])]
        self._next += len(encoded)
        rows, first = self._row_of[pieces.box], first - first[0]
        table = pieces.table.copy()
        table[:, 0] = rows
        recipe = self._recipe if (encoded.first[1:] > encoded.first[:-1]).all() else self._here
        job = ScatterTiles(recipe, encoded, first, Pieces(table))
        self._decoders.submit(job).add_done_callback(lambda done: self._done(encoded.tiles, first, rows, done))

    def _done(
        self, tiles: NDArray[np.int64], first: NDArray[np.int64], rows: NDArray[np.int32], done: Future[Failures]
    ) -> None:
        """On a decoder's thread, whose border it is."""
        with suppress(Closed):  # the stages are ending: nobody waits for the rows
            self._finish(tiles, first, rows, done)

    def _finish(
        self, tiles: NDArray[np.int64], first: NDArray[np.int64], rows: NDArray[np.int32], done: Future[Failures]
    ) -> None:
        """`rows`: of each piece."""
        if done.cancelled():
            return  # the stages are ending
        error = done.exception()
        if isinstance(error, Exception):
            self._batches.end(Ended(self._work, error))  # before anybody can take it for a work that was stopped
            self._work.ended.set()
            self._batches.finish(rows)
            return
        why = dict(done.result())
        broken = [
            (row, tile, why[tile])
            for number, tile in enumerate(tiles.tolist() if why else ())
            if tile in why
            for row in rows[int(first[number]) : int(first[number + 1])].tolist()
        ]
        self._batches.finish(rows, broken)
