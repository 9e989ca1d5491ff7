"""Vectors of tiles in a temporary file: a slide's may be gigabytes, and come in the order of shards."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import IO

import numpy as np
from numpy.typing import NDArray

from wsi.results.shard_result import Floats, Numbers


class FeatureRows:
    """A row of `dimensions` numbers for each tile, at the tile's number."""

    def __init__(self, file: IO[bytes], dimensions: int, kind: Floats) -> None:
        self._file = file
        self.dimensions = dimensions
        self.type = np.dtype(kind)

    def put(self, tiles: NDArray[np.int32], rows: Numbers) -> None:
        """Keep the rows [n, dimensions] of the tiles [n], in any order."""
        order = np.argsort(tiles, kind="stable")
        numbers = tiles[order]
        for first, last in _iterate_runs(numbers):
            self._seek(int(numbers[first]))
            self._file.write(np.ascontiguousarray(rows[order[first:last]], self.type).tobytes())

    def read(self, tiles: NDArray[np.int32]) -> Numbers:
        """Return the rows [n, dimensions] of ascending tiles that were put."""
        rows = np.empty((len(tiles), self.dimensions), self.type)
        for first, last in _iterate_runs(tiles):
            self._seek(int(tiles[first]))
            size = (last - first) * self.dimensions * self.type.itemsize
            rows[first:last] = np.frombuffer(self._file.read(size), self.type).reshape(-1, self.dimensions)
        return rows

    def _seek(self, tile: int) -> None:
        self._file.seek(tile * self.dimensions * self.type.itemsize)


def _iterate_runs(numbers: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last + 1 place of each run of consecutive numbers: a run is one write."""
    starts = np.flatnonzero(np.diff(numbers, prepend=-2) != 1).tolist()
    yield from pairwise([*starts, len(numbers)])


@contextmanager
def keep_rows_on_disk(dimensions: int, kind: Floats) -> Generator[FeatureRows]:
    """Yield rows whose file is removed after the block."""
    with tempfile.TemporaryFile() as file:
        yield FeatureRows(file, dimensions, kind)
