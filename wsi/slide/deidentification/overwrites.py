"""Bytes overwritten in place: a file keeps its size, and all other bytes keep their places."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.digests import PART_SIZE
from wsi.slide.ranges import ByteRange, Data, RangeSource

#: Bytes between parts that stay. Writers leave a single byte to begin at an even offset. Overwriting it with a zero
#: would mean to rewrite the whole file, since there is one at every second tile.
PADDING: Final = 2


@dataclass(frozen=True, slots=True)
class Overwrite:
    place: ByteRange
    data: bytes | None = None  #: as long as `place`; None: zeros, of which a macro image takes millions

    def __post_init__(self) -> None:
        if self.data is not None and len(self.data) != self.place.size:
            raise ValueError("what is written over bytes must be as long as they are")

    def slice(self, start: int, end: int) -> bytes:
        return bytes(end - start) if self.data is None else self.data[start - self.place.start : end - self.place.start]


def sort_overwrites(overwrites: Iterable[Overwrite]) -> tuple[Overwrite, ...]:
    """Return the overwrites by place, without duplicates. Raises ValueError where two overlap."""
    ordered: list[Overwrite] = []
    for one in sorted(set(overwrites), key=lambda each: each.place):
        if ordered and one.place.start < ordered[-1].place.end:
            raise ValueError("two overwrites of the same bytes")
        ordered.append(one)
    return tuple(ordered)


class OverwrittenSource:
    """A `CleanSource` that returns the file's bytes as they are after the overwrites. Raises SourceError."""

    def __init__(self, source: RangeSource, overwrites: Sequence[Overwrite]) -> None:
        """Take overwrites that `sort_overwrites` has sorted."""
        self._source = source
        self.overwrites: Final = overwrites
        self._starts = [one.place.start for one in overwrites]
        self._ends = [one.place.end for one in overwrites]

    @property
    def size(self) -> int:
        return self._source.size

    @property
    def etag(self) -> str:
        return f"{self._source.etag}-overwritten"

    def read(self, byte_range: ByteRange) -> bytes:
        return self._over(byte_range, self._source.read(byte_range))

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[Data]:
        for byte_range, data in zip(ranges, self._source.read_many(ranges), strict=True):
            yield self._over(byte_range, data)

    def find_unchanged(self, byte_range: ByteRange) -> ByteRange | None:
        return None if self._meeting(byte_range) else byte_range

    def _over(self, byte_range: ByteRange, data: Data) -> bytes:
        meeting = self._meeting(byte_range)
        if not meeting:
            return bytes(data)
        written = bytearray(data)
        for one in meeting:
            start, end = max(one.place.start, byte_range.start), min(one.place.end, byte_range.end)
            written[start - byte_range.start : end - byte_range.start] = one.slice(start, end)
        return bytes(written)

    def _meeting(self, byte_range: ByteRange) -> Sequence[Overwrite]:
        return self.overwrites[bisect_right(self._ends, byte_range.start) : bisect_left(self._starts, byte_range.end)]


def split_into_parts(size: int) -> Iterator[ByteRange]:
    """Yield the fixed parts of a file, in order."""
    for start in range(0, size, PART_SIZE):
        yield ByteRange(start, min(start + PART_SIZE, size))


def merge_ranges(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the same bytes as sorted ranges that neither overlap nor touch."""
    order = np.argsort(starts, kind="stable")
    starts, reached = starts[order], np.maximum.accumulate(ends[order])
    opens = np.ones(len(starts), np.bool_)
    opens[1:] = starts[1:] > reached[:-1]
    closes = np.append(np.flatnonzero(opens)[1:] - 1, len(starts) - 1)
    return starts[opens], reached[closes]


def compute_gaps(starts: NDArray[np.int64], ends: NDArray[np.int64], size: int) -> Iterator[ByteRange]:
    """Yield the ranges between ranges that `merge_ranges` returned, before the first and after the last."""
    begins, stops = np.append(0, ends), np.append(starts, size)
    wide = stops > begins
    for begin, stop in zip(begins[wide].tolist(), stops[wide].tolist(), strict=True):
        yield ByteRange(begin, stop)
