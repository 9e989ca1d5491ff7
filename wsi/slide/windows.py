"""A small view of a file's structure: reads go through windows that stay, so that neighbouring reads cost one
request. Every read is checked against the file's size before any byte is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wsi.errors import RejectReason, SlideRejected
from wsi.slide.coalescing import coalesce
from wsi.slide.ranges import ByteRange, RangeSource

ENDS = 65_536  #: bytes at the file's head and at its tail, which are asked for together
#: Bytes; a request at a directory brings the directory, its description and the tables of all but large levels.
WINDOW = 32_768
MAX_PREFETCH = 32 * 1024**2  #: bytes held at once by `prefetch`; 4,000,000 tiles of a classic TIFF

CUT_SHORT = "The file ends before its directory: the upload or copy was cut short."


class Windows:
    """Raises SlideRejected TRUNCATED for a read past the end of the file, SourceError when the store fails."""

    def __init__(self, source: RangeSource) -> None:
        self._source = source
        self._windows: list[tuple[int, bytes]] = []

    @property
    def size(self) -> int:
        return self._source.size

    def read(self, offset: int, size: int) -> bytes:
        if offset < 0 or size < 0 or offset + size > self._source.size:
            raise SlideRejected(RejectReason.TRUNCATED, CUT_SHORT)
        held = self._held(offset, offset + size)
        if held is not None:
            return held
        if size > WINDOW:  # A long array is read once: keeping it would only double its memory.
            return self._source.read(ByteRange(offset, offset + size))
        data = self._source.read(ByteRange(offset, min(offset + WINDOW, self._source.size)))
        self._windows.append((offset, data))
        return data[:size]

    def prefetch(self, ranges: Sequence[ByteRange]) -> None:
        """Asks for what is to be read soon, all together and neighbours in one request. Ranges that lie past the end
        are left to `read`, which says so; without effect when they hold more than `MAX_PREFETCH` bytes."""
        wanted = [part for part in ranges if 0 <= part.start <= part.end <= self._source.size]
        missing = [part for part in wanted if self._held(part.start, part.end) is None]
        runs = [run.byte_range for run in coalesce(list(enumerate(missing)))]
        if sum(run.size for run in runs) > MAX_PREFETCH:
            return
        for run, data in zip(runs, self._source.read_many(runs), strict=True):
            self._windows.append((run.start, data))

    def _held(self, start: int, end: int) -> bytes | None:
        for at, data in self._windows:
            if at <= start and end <= at + len(data):
                return data[start - at : end - at]
        return None


class EndsHeld:
    """A `RangeSource` that has its object's head and tail already: what a slide is and where its directories lie
    mostly stands there. Raises SourceError."""

    def __init__(self, source: RangeSource) -> None:
        self._source = source
        head = ByteRange(0, min(ENDS, source.size))
        tail = ByteRange(max(head.end, source.size - ENDS), source.size)
        runs = [run.byte_range for run in coalesce([(0, head), (1, tail)])] if tail.size else [head]
        self._ends = list(zip(runs, source.read_many(runs), strict=True))

    @property
    def size(self) -> int:
        return self._source.size

    @property
    def etag(self) -> str:
        return self._source.etag

    def read(self, byte_range: ByteRange) -> bytes:
        held = self._held(byte_range)
        return self._source.read(byte_range) if held is None else held

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[bytes]:
        found = [self._held(byte_range) for byte_range in ranges]
        pairs = zip(ranges, found, strict=True)
        others = self._source.read_many([byte_range for byte_range, held in pairs if held is None])
        return (next(others) if held is None else held for held in found)

    def _held(self, byte_range: ByteRange) -> bytes | None:
        for held, data in self._ends:
            if held.start <= byte_range.start and byte_range.end <= held.end:
                return data[byte_range.start - held.start : byte_range.end - held.start]
        return None
