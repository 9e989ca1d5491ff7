"""Sources and reading for the tests of the reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from openslide import OpenSlide

from tests.fakes.ranges import MemoryRangeSource
from wsi.slide.files.source import SlideSource
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.slide import SlideReader


class CountingSource(MemoryRangeSource):
    """Bytes in memory that note what was asked of them."""

    def __init__(self, data: bytes) -> None:
        super().__init__(lambda: (data, "etag-1"))
        self.asked: list[ByteRange] = []
        self.largest_group = 0  #: bytes of one read_many

    def read(self, byte_range: ByteRange) -> bytes:
        self.asked.append(byte_range)
        return super().read(byte_range)

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[bytes]:
        self.largest_group = max(self.largest_group, sum(byte_range.size for byte_range in ranges))
        return super().read_many(ranges)


def remote(source: RangeSource, name: str = "slide.svs") -> SlideSource:
    """A slide of one file that lies nowhere on this disk."""
    return SlideSource(files=((name, source),))


def read_level(reader: SlideReader, level: int) -> NDArray[np.uint8]:
    """The whole level, put together from its tiles."""
    info = reader.inspection.levels[level]
    columns, rows = -(-info.width // info.tile_width), -(-info.height // info.tile_height)
    canvas = np.zeros((rows * info.tile_height, columns * info.tile_width, 3), np.uint8)
    for tile in reader.read_tiles(level, range(rows * columns)):
        row, column = divmod(tile.index, columns)
        y, x = row * info.tile_height, column * info.tile_width
        canvas[y : y + info.tile_height, x : x + info.tile_width] = reader.decode(tile)
    return canvas[: info.height, : info.width]


def oracle_level(path: Path, level: int) -> NDArray[np.uint8]:
    """The same by OpenSlide. From the level's origin, since it resamples at corners that are not whole pixels."""
    with OpenSlide(path) as slide:
        return np.asarray(slide.read_region((0, 0), level, slide.level_dimensions[level]).convert("RGB"))
