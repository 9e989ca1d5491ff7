"""The reader of slides whose index we hold: coalesced range reads, no copy of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from wsi.errors import SourceChanged, TileUnreadable
from wsi.records.slides import Inspection
from wsi.slide.coalescing import coalesce_spans
from wsi.slide.coding import Codec, Reduction
from wsi.slide.decoding import TileDecoding
from wsi.slide.encoded import EncodedTiles
from wsi.slide.files.source import SlideSource
from wsi.slide.index import LevelIndex, SlideIndex, TileExtents
from wsi.slide.ranges import ByteRange, Data
from wsi.slide.slide import RGB, WHITE, EncodedTile


class NativeReader:
    """The reader of a slide that has an index. Raises SourceChanged when the index was made from another version of a
    file."""

    def __init__(self, source: SlideSource, index: SlideIndex) -> None:
        held = [file.etag for _, file in source.files[: len(index.files)]]
        if held != [file.etag for file in index.files]:
            raise SourceChanged("The slide's file has changed since it was planned: start the analysis again.")
        self._files = [file for _, file in source.files]
        self._index = index

    @property
    def inspection(self) -> Inspection:
        return self._index.inspection

    def sort_tiles(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        pieces = self._index.levels[level].pieces
        asked = self._askable(level, tiles)
        of, places = _places(pieces, tiles[asked])
        rank = np.empty(len(places), np.int64)
        rank[_by_place(pieces, places)] = np.arange(len(places))
        last = np.zeros(len(tiles[asked]), np.int64)
        np.maximum.at(last, of, rank)  # a tile is there with its last piece
        return np.concatenate((tiles[~asked], tiles[asked][np.argsort(last)]))

    def read_runs(self, level: int, tiles: NDArray[np.int64]) -> Iterator[EncodedTiles]:
        """Yield the tiles; those whose bytes cannot be requested come first, without pieces: `decode` says what is
        wrong."""
        asked = self._askable(level, tiles)
        if not asked.all():
            yield EncodedTiles.with_no_bytes(level, tiles[~asked])
        pieces, wanted = self._index.levels[level].pieces, tiles[asked]
        of, places = _places(pieces, wanted)
        order = _by_place(pieces, places)
        one_each = len(places) == len(wanted)
        gathered = _Gathering(level, wanted, of)
        for file, source in enumerate(self._files):
            here = order[pieces.files[places[order]] == file]
            starts = pieces.offsets[places[here]]
            ends = starts + pieces.sizes[places[here]]
            found = coalesce_spans(starts.tolist(), ends.tolist())
            answers = source.read_many([ByteRange(begin, end) for _, _, begin, end in found])
            for (low, high, begin, _), data in zip(found, answers, strict=True):
                inside = starts[low:high] - begin, ends[low:high] - begin
                if one_each:
                    first = np.arange(high - low + 1)
                    yield EncodedTiles(level, wanted[of[here[low:high]]], first, *inside, data)
                    continue
                whole = gathered.add(here[low:high], *inside, data)
                if whole is not None:
                    yield whole

    def read_tiles(self, level: int, tiles: Sequence[int]) -> Iterator[EncodedTile]:
        return (tile for run in self.read_runs(level, np.asarray(tiles, np.int64)) for tile in run.iterate_tiles())

    def find_decoding(self, level: int) -> TileDecoding:
        index = self._index.levels[level]
        return TileDecoding(index.coding, index.info.tile_width, index.info.tile_height, index.holes)

    def decode(self, tile: EncodedTile, reduction: Reduction = 1, fill: int = WHITE) -> RGB:
        index = self._index.levels[tile.level]
        fault = self._fault(index, index.pieces.locate(tile.index))
        if fault is not None:
            raise TileUnreadable(fault)
        return self.find_decoding(tile.level).decode(tile.pieces, reduction, fill)

    def reduces(self, level: int) -> bool:
        return self._index.levels[level].coding.codec in (Codec.JPEG, Codec.JPEG_RESTARTS)

    def estimate_level_bytes(self, level: int) -> int:
        index = self._index.levels[level]
        return int(np.clip(index.pieces.sizes, 0, index.most_bytes).sum())

    def map_duplicates(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each tile of one piece one tile at the same place; a tile of several pieces stands for itself."""
        pieces = self._index.levels[level].pieces
        first = pieces.first[tiles]
        single = pieces.first[tiles + 1] - first == 1
        at = first[single]
        order = np.lexsort((at, pieces.sizes[at], pieces.offsets[at], pieces.files[at]))
        at = at[order]
        changes = [np.diff(values[at]) != 0 for values in (pieces.files, pieces.offsets, pieces.sizes)]
        leads = np.concatenate((np.ones(min(1, len(at)), np.bool_), np.logical_or.reduce(changes)))
        alone = np.flatnonzero(single)[order]
        same = tiles.copy()
        same[alone] = tiles[alone[leads]][np.cumsum(leads) - 1]
        return same

    def serialize_index(self) -> bytes:
        return self._index.to_bytes()

    def close(self) -> None:
        """Leave the source open: it belongs to the caller that opened it."""

    def _askable(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return [n] whether each tile has bytes, all of them in the file: it has no `_fault`, checked for many tiles
        at once."""
        index = self._index.levels[level]
        pieces, sizes = index.pieces, np.array([file.size for file in self._index.files], np.int64)
        of, places = _places(pieces, tiles)
        start, size = pieces.offsets[places], pieces.sizes[places]
        sound = (size > 0) & (start >= 0) & (start <= sizes[pieces.files[places]] - size)
        unsound = np.bincount(of[~sound], minlength=len(tiles)) > 0
        total = np.zeros(len(tiles), np.float64)
        np.add.at(total, of[sound], size[sound])
        return ~unsound & (total > 0) & (total <= index.most_bytes)

    def _fault(self, index: LevelIndex, places: Sequence[tuple[int, int, int]]) -> str | None:
        """Return why the bytes of the tile at `places` cannot be requested; None if they can, or if there are none to
        request."""
        total = 0
        for file, start, size in places:
            if size == 0:
                return "missing in the file"
            if start < 0 or size < 0 or start + size > self._index.files[file].size:
                return "its bytes lie past the end of the file"
            total += size
        if not places:
            return None if index.holes else "missing in the file"
        if total > index.most_bytes:
            return f"claims {total:,} bytes, more than its pixels can need"
        return None


class _Gathering:
    """Tiles of several pieces, whose pieces may come with different requests."""

    def __init__(self, level: int, tiles: NDArray[np.int64], of: NDArray[np.int64]) -> None:
        """Take the wanted tiles. Piece p, counted tile by tile, belongs to `tiles[of[p]]`."""
        self._level, self._tiles, self._of = level, tiles, of
        self._first = np.searchsorted(of, np.arange(len(tiles) + 1))
        self._held: dict[int, dict[int, bytes]] = {}

    def add(
        self, pieces: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64], data: Data
    ) -> EncodedTiles | None:
        """Add pieces, and return the tiles that they complete."""
        whole: list[EncodedTile] = []
        for piece, start, end in zip(pieces.tolist(), starts.tolist(), ends.tolist(), strict=True):
            tile = int(self._of[piece])
            held = self._held.setdefault(tile, {})
            held[piece] = bytes(data[start:end])
            places = range(int(self._first[tile]), int(self._first[tile + 1]))
            if len(held) == len(places):
                del self._held[tile]
                whole.append(EncodedTile(self._level, int(self._tiles[tile]), tuple(held[place] for place in places)))
        return EncodedTiles.of(self._level, whole) if whole else None


def _places(pieces: TileExtents, tiles: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pieces of some tiles, tile by tile: (which of `tiles` each belongs to, the piece)."""
    first, counts = pieces.first[tiles], pieces.first[tiles + 1] - pieces.first[tiles]
    of = np.repeat(np.arange(len(tiles)), counts)
    return of, np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts) + first[of]


def _by_place(pieces: TileExtents, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order in which these pieces lie in the files."""
    start = pieces.offsets[places]
    return np.lexsort((places, start + pieces.sizes[places], start, pieces.files[places]))
