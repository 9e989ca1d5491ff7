"""A `RangeSource` over bytes in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from wsi.errors import SourceChanged, SourceMissing, SourceTruncated
from wsi.slide.ranges import ByteRange, Data


class MemoryRangeSource:
    """`current` returns the bytes and ETag that the store holds now, or None once the object is gone."""

    def __init__(self, current: Callable[[], tuple[bytes, str] | None]) -> None:
        held = current()
        if held is None:
            raise SourceMissing("The object does not exist.")
        self._current = current
        self._size = len(held[0])
        self._etag = held[1]

    @property
    def size(self) -> int:
        return self._size

    @property
    def etag(self) -> str:
        return self._etag

    def read(self, byte_range: ByteRange) -> bytes:
        self._check(byte_range)
        held = self._current()
        if held is None:
            raise SourceMissing("The object does not exist any more.")
        if held[1] != self._etag:
            raise SourceChanged("The slide was replaced while it was read; upload or register it again.")
        return held[0][byte_range.start : byte_range.end]

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[Data]:
        for byte_range in ranges:
            self._check(byte_range)
        return map(self.read, ranges)

    def _check(self, byte_range: ByteRange) -> None:
        if byte_range.start < 0 or byte_range.end > self._size:
            raise SourceTruncated(f"The file ends at byte {self._size}, before {byte_range.end}.")
