"""Tiles of the file as bytes, many at a time: what fetching hands to decoding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.slide.slide import EncodedTile


@dataclass(frozen=True, slots=True)
class EncodedTiles:
    """Some tiles of a level, mostly those of one request. Tile k is the pieces `first[k]` to `first[k + 1]`, in that
    order; piece p is `data[starts[p] : ends[p]]`. A tile without pieces has no bytes to ask for, or is read while it is
    decoded (OpenSlide)."""

    level: int
    tiles: NDArray[np.int64]  #: [n] row-major in the level's tile grid
    first: NDArray[np.int64]  #: [n + 1]
    starts: NDArray[np.int64]  #: [pieces] bytes
    ends: NDArray[np.int64]
    data: bytes | memoryview

    def __len__(self) -> int:
        return len(self.tiles)

    def slice(self, low: int, high: int) -> EncodedTiles:
        """Return tiles `low` to `high`, with the smallest part of the data that holds them."""
        first, last = int(self.first[low]), int(self.first[high])
        starts, ends = self.starts[first:last], self.ends[first:last]
        begin, end = (int(starts.min()), int(ends.max())) if last > first else (0, 0)
        data = memoryview(self.data)[begin:end]
        return EncodedTiles(
            self.level, self.tiles[low:high], self.first[low : high + 1] - first, starts - begin, ends - begin, data
        )

    def iterate_pieces(self) -> Iterator[tuple[int, tuple[bytes, ...]]]:
        """Yield each tile and its pieces."""
        data = self.data
        places = list(zip(self.starts.tolist(), self.ends.tolist(), strict=True))
        first = self.first.tolist()
        for number, tile in enumerate(self.tiles.tolist()):
            held = places[first[number] : first[number + 1]]
            yield tile, tuple(bytes(data[start:end]) for start, end in held)

    def iterate_tiles(self) -> Iterator[EncodedTile]:
        return (EncodedTile(self.level, tile, pieces) for tile, pieces in self.iterate_pieces())

    @staticmethod
    def of(level: int, tiles: Sequence[EncodedTile]) -> EncodedTiles:
        """Build the table from single tiles, copying their bytes."""
        sizes = np.array([len(piece) for tile in tiles for piece in tile.pieces], np.int64)
        ends = np.cumsum(sizes)
        return EncodedTiles(
            level,
            np.array([tile.index for tile in tiles], np.int64),
            np.concatenate(([0], np.cumsum([len(tile.pieces) for tile in tiles], dtype=np.int64))).astype(np.int64),
            ends - sizes,
            ends,
            b"".join(piece for tile in tiles for piece in tile.pieces),
        )

    @staticmethod
    def with_no_bytes(level: int, tiles: NDArray[np.int64]) -> EncodedTiles:
        none = np.empty(0, np.int64)
        return EncodedTiles(level, tiles, np.zeros(len(tiles) + 1, np.int64), none, none, b"")
