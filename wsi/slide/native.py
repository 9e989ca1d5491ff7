"""The reader of slides whose index we hold: coalesced range reads, libjpeg-turbo, no copy of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wsi.errors import SourceChanged, TileUnreadable
from wsi.records.slides import Inspection
from wsi.slide import jpeg
from wsi.slide.coalescing import coalesce, read_runs
from wsi.slide.index import LevelIndex, SlideIndex
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.slide import RGB, EncodedTile


class NativeReader:
    """Raises SourceChanged when the index was made from another version of the file."""

    def __init__(self, source: RangeSource, index: SlideIndex) -> None:
        if source.etag != index.etag:
            raise SourceChanged("The slide's file has changed since it was planned: start the analysis again.")
        self._source = source
        self._index = index

    @property
    def inspection(self) -> Inspection:
        return self._index.inspection

    def encoded(self, level: int, tiles: Sequence[int]) -> Iterator[EncodedTile]:
        """Tiles whose bytes can not be asked for come first, with empty data: `decode` says what is wrong."""
        index = self._index.levels[level]
        wanted: list[tuple[int, ByteRange]] = []
        for tile in tiles:
            start, size = int(index.offsets[tile]), int(index.counts[tile])
            if self._fault(index, tile) is None:
                wanted.append((tile, ByteRange(start, start + size)))
            else:
                yield EncodedTile(level, tile, b"")
        for tile, data in read_runs(self._source, coalesce(wanted)):
            yield EncodedTile(level, tile, data)

    def decode(self, tile: EncodedTile) -> RGB:
        index = self._index.levels[tile.level]
        fault = self._fault(index, tile.index)
        if fault is not None:
            raise TileUnreadable(fault)
        whole = jpeg.complete(
            tile.data,
            tables=index.tables,
            photometric=index.photometric,
            width=index.info.tile_width,
            height=index.info.tile_height,
        )
        return jpeg.decode(whole)

    def index_bytes(self) -> bytes:
        return self._index.to_bytes()

    def close(self) -> None:
        """Nothing is held open here; the source belongs to whoever opened it."""

    def _fault(self, index: LevelIndex, tile: int) -> str | None:
        """Why the tile's bytes can not be asked for."""
        start, size = int(index.offsets[tile]), int(index.counts[tile])
        if size == 0:
            return "missing in the file"
        if start < 0 or size < 0 or start + size > self._index.size:
            return "its bytes lie past the end of the file"
        # Four times the raw pixels and a header: noise at quality 100 takes less than twice.
        if size > 4 * 3 * index.info.tile_width * index.info.tile_height + 65_536:
            return f"claims {size:,} bytes, more than its pixels can need"
        return None
