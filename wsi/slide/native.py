"""The reader of slides whose index we hold: coalesced range reads, no copy of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from wsi.errors import SourceChanged, TileUnreadable
from wsi.records.slides import Inspection
from wsi.slide.coalescing import coalesce, read_runs
from wsi.slide.coding import Codec, Reduction
from wsi.slide.decoding import decode_tile
from wsi.slide.index import LevelIndex, SlideIndex
from wsi.slide.ranges import ByteRange
from wsi.slide.slide import RGB, WHITE, EncodedTile
from wsi.slide.source import SlideSource


class NativeReader:
    """Raises SourceChanged when the index was made from another version of a file."""

    def __init__(self, source: SlideSource, index: SlideIndex) -> None:
        held = [file.etag for _, file in source.files[: len(index.files)]]
        if held != [file.etag for file in index.files]:
            raise SourceChanged("The slide's file has changed since it was planned: start the analysis again.")
        self._files = [file for _, file in source.files]
        self._index = index

    @property
    def inspection(self) -> Inspection:
        return self._index.inspection

    def encoded(self, level: int, tiles: Sequence[int]) -> Iterator[EncodedTile]:
        """Tiles whose bytes can not be asked for come first, with empty data: `decode` says what is wrong."""
        index = self._index.levels[level]
        wanted: dict[int, list[tuple[int, ByteRange]]] = {}
        owners: dict[int, int] = {}
        for tile in tiles:
            places = index.pieces.lying(tile)
            if not places or self._fault(index, places) is not None:
                yield EncodedTile(level, tile, ())
                continue
            for piece, (file, start, size) in zip(index.pieces.of(tile), places, strict=True):
                wanted.setdefault(file, []).append((piece, ByteRange(start, start + size)))
                owners[piece] = tile
        gathered: dict[int, dict[int, bytes]] = {}
        for file, pieces in sorted(wanted.items()):
            for piece, data in read_runs(self._files[file], coalesce(pieces)):
                tile = owners[piece]
                parts = gathered.setdefault(tile, {})
                parts[piece] = data
                places = index.pieces.of(tile)
                if len(parts) == len(places):
                    del gathered[tile]
                    yield EncodedTile(level, tile, tuple(parts[place] for place in places))

    def decode(self, tile: EncodedTile, reduction: Reduction = 1, fill: int = WHITE) -> RGB:
        index = self._index.levels[tile.level]
        width, height = index.info.tile_width, index.info.tile_height
        places = index.pieces.lying(tile.index)
        if index.holes and not places:
            return np.full((-(-height // reduction), -(-width // reduction), 3), fill, np.uint8)
        fault = self._fault(index, places)
        if fault is not None:
            raise TileUnreadable(fault)
        coding = index.coding if fill == WHITE else replace(index.coding, ground=fill)
        return decode_tile(tile.pieces, coding, width, height, reduction)

    def reduces(self, level: int) -> bool:
        return self._index.levels[level].coding.codec in (Codec.JPEG, Codec.JPEG_RESTARTS)

    def index_bytes(self) -> bytes:
        return self._index.to_bytes()

    def close(self) -> None:
        """Nothing is held open here; the source belongs to whoever opened it."""

    def _fault(self, index: LevelIndex, places: Sequence[tuple[int, int, int]]) -> str | None:
        """Why the bytes of the tile that lies at `places` can not be asked for."""
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
