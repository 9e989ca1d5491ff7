"""Bytes written over where they lie: a file keeps its size, and all that is left alone keeps its place."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.digests import PART_SIZE
from wsi.slide.ranges import ByteRange, Data, RangeSource

#: Bytes between things that are kept. A single byte is what writers leave to begin at an even offset; to write a zero
#: over it would mean to write the whole file again, since one stands at every second tile.
PADDING: Final = 2


@dataclass(frozen=True, slots=True)
class Overwrite:
    place: ByteRange
    data: bytes | None = None  #: as long as `place`; None: zeros, which a macro picture has millions of

    def __post_init__(self) -> None:
        if self.data is not None and len(self.data) != self.place.size:
            raise ValueError("what is written over bytes must be as long as they are")

    def part(self, start: int, end: int) -> bytes:
        return bytes(end - start) if self.data is None else self.data[start - self.place.start : end - self.place.start]


def in_order(overwrites: Iterable[Overwrite]) -> tuple[Overwrite, ...]:
    """By place, without those that say the same twice. Raises ValueError where two contradict each other."""
    ordered: list[Overwrite] = []
    for one in sorted(set(overwrites), key=lambda each: each.place):
        if ordered and one.place.start < ordered[-1].place.end:
            raise ValueError("two overwrites of the same bytes")
        ordered.append(one)
    return tuple(ordered)


class OverwrittenSource:
    """A `RangeSource` that answers as the file will be once it is written over. Raises SourceError."""

    def __init__(self, source: RangeSource, overwrites: Sequence[Overwrite]) -> None:
        """`overwrites` are `in_order`."""
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

    def touches(self, byte_range: ByteRange) -> bool:
        return bool(self._meeting(byte_range))

    def _over(self, byte_range: ByteRange, data: Data) -> bytes:
        meeting = self._meeting(byte_range)
        if not meeting:
            return bytes(data)
        written = bytearray(data)
        for one in meeting:
            start, end = max(one.place.start, byte_range.start), min(one.place.end, byte_range.end)
            written[start - byte_range.start : end - byte_range.start] = one.part(start, end)
        return bytes(written)

    def _meeting(self, byte_range: ByteRange) -> Sequence[Overwrite]:
        return self.overwrites[bisect_right(self._ends, byte_range.start) : bisect_left(self._starts, byte_range.end)]


def parts(size: int) -> Iterator[ByteRange]:
    """The fixed parts of a file, in order."""
    for start in range(0, size, PART_SIZE):
        yield ByteRange(start, min(start + PART_SIZE, size))


def merged(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same bytes as ranges in order that neither meet nor touch."""
    order = np.argsort(starts, kind="stable")
    starts, reached = starts[order], np.maximum.accumulate(ends[order])
    opens = np.ones(len(starts), np.bool_)
    opens[1:] = starts[1:] > reached[:-1]
    closes = np.append(np.flatnonzero(opens)[1:] - 1, len(starts) - 1)
    return starts[opens], reached[closes]


def gaps(starts: NDArray[np.int64], ends: NDArray[np.int64], size: int) -> Iterator[ByteRange]:
    """What lies between ranges that are `merged`, before the first and behind the last."""
    begins, stops = np.append(0, ends), np.append(starts, size)
    wide = stops > begins
    for begin, stop in zip(begins[wide].tolist(), stops[wide].tolist(), strict=True):
        yield ByteRange(begin, stop)
